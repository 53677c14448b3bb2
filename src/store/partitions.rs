//! On `PostgreSQL` the records of each day lie in a table of their own, a partition of `usage_slices`, so that a day is
//! removed at once. Partitions are made before their day is written. What is written of a day without one lies in a partition
//! for the rest, `usage_slices_other`, until the day gets its own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::{Result, Store, Tx};
use crate::domain::time::Day;

/// Days of which this process knows that they have a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Partitions {
    days: Arc<Mutex<BTreeSet<Day>>>,
    /// Records that were found in no partition of their day.
    strays: Arc<AtomicU64>,
}

impl Partitions {
    fn lack(&self, days: impl Iterator<Item = Day>) -> Vec<Day> {
        let known = self.days.lock().unwrap_or_else(PoisonError::into_inner);
        days.filter(|day| !known.contains(day)).collect()
    }

    fn know(&self, days: BTreeSet<Day>) {
        *self.days.lock().unwrap_or_else(PoisonError::into_inner) = days;
    }
}

/// Partitions that are made in one transaction.
const AT_ONCE: usize = 20;
/// Only one process at a time makes or removes partitions. No more than a readable number.
const LOCK: i64 = 20_260_113;
/// How long partitions wait for readers before they are left as they are. Others wait behind them for so long.
const PATIENCE: &str = "SET LOCAL lock_timeout = '2s'";

impl Store {
    /// Whether records lie in partitions.
    pub fn has_partitions(&self) -> bool {
        self.backend() == DbBackend::Postgres
    }

    /// Lets the days that have a partition be read again.
    pub fn forget_partitions(&self) {
        self.partitions.know(BTreeSet::new());
    }

    /// Makes partitions for the days from `first` to `last` that have none.
    #[tracing::instrument(name = "db.partitions.prepare", level = "debug", skip_all, err(level = "debug"))]
    pub async fn prepare_days(&self, first: Day, last: Day) -> Result<()> {
        if !self.has_partitions() {
            return Ok(());
        }
        for part in self.partitions.lack((first.0..=last.0).map(Day)).chunks(AT_ONCE) {
            let tx = self.begin().await?;
            let mut known = lock(&tx).await?;
            for day in part {
                if known.insert(*day) {
                    make(&tx, *day).await?;
                }
            }
            tx.commit().await?;
            self.partitions.know(known);
        }
        Ok(())
    }

    /// Removes the partitions of days before `before` that no group has records of any more.
    #[tracing::instrument(name = "db.partitions.drop", level = "debug", skip_all, err(level = "debug"))]
    pub async fn drop_purged_days(&self, before: Day) -> Result<()> {
        if !self.has_partitions() {
            return Ok(());
        }
        let tx = self.begin().await?;
        let mut known = lock(&tx).await?;
        for day in known.range(..before).copied().collect::<Vec<_>>() {
            // A day that is needed is not locked, so that its readers go on.
            if is_needed(&tx, day).await? {
                // Purges go by day: later days are needed too.
                break;
            }
            // First the whole and then its part, as every reader locks them: in the other order each may wait for the other.
            tx.execute_unprepared("LOCK TABLE ONLY usage_slices IN ACCESS EXCLUSIVE MODE").await?;
            let name = partition(day);
            tx.execute_unprepared(&format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")).await?;
            // A run may have written records of the day before it was locked.
            if is_needed(&tx, day).await? {
                break;
            }
            tx.execute_unprepared(&format!("ALTER TABLE usage_slices DETACH PARTITION {name}")).await?;
            tx.execute_unprepared(&format!("DROP TABLE {name}")).await?;
            known.remove(&day);
        }
        tx.commit().await?;
        self.partitions.know(known);
        Ok(())
    }

    /// Writes the partition of a day anew, without the room that removed records left, once no group will remove more.
    #[tracing::instrument(name = "db.partitions.tidy", level = "debug", skip_all, err(level = "debug"))]
    pub async fn tidy_day(&self, day: Day) -> Result<()> {
        if !self.has_partitions() {
            return Ok(());
        }
        let name = partition(day);
        let sql = format!(
            "SELECT to_regclass('{name}') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM resource_groups g WHERE \
             (g.compacted_before IS NULL OR g.compacted_before <= {}) \
             AND EXISTS (SELECT 1 FROM usage_slices s WHERE s.group_key = g.group_key AND s.period_end > {} \
             AND s.period_end <= {})) AS done",
            day.0,
            day.start().micros(),
            day.plus(1).start().micros()
        );
        let row = self.read().query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
        let done: Option<bool> = row.map(|row| row.try_get("", "done")).transpose()?;
        if done == Some(true) {
            self.write().execute_unprepared(&format!("VACUUM (FULL, ANALYZE) {name}")).await?;
        }
        Ok(())
    }

    /// How many records lie in no partition of their day, of days that have come since the first partition.
    #[tracing::instrument(name = "db.partitions.strays", level = "debug", skip_all, err(level = "debug"))]
    pub async fn stray_records(&self) -> Result<u64> {
        if !self.has_partitions() {
            return Ok(0);
        }
        let mut strays = 0;
        if let Some(first) = days(self.read()).await?.first() {
            let from = first.start().micros();
            let sql = format!("SELECT COUNT(*) AS strays FROM usage_slices_other WHERE period_end > {from}");
            let row = self.read().query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
            let counted: Option<i64> = row.map(|row| row.try_get("", "strays")).transpose()?;
            strays = counted.unwrap_or(0).unsigned_abs();
        }
        self.partitions.strays.store(strays, Ordering::Relaxed);
        Ok(strays)
    }

    /// What [`Store::stray_records`] found last.
    pub fn known_strays(&self) -> u64 {
        self.partitions.strays.load(Ordering::Relaxed)
    }
}

/// Keeps other processes from changing partitions until the transaction ends. Returns the days that have one.
async fn lock(tx: &Tx) -> Result<BTreeSet<Day>> {
    tx.execute_unprepared(PATIENCE).await?;
    tx.execute_unprepared(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    days(tx).await
}

/// The days that have a partition.
async fn days(db: &impl ConnectionTrait) -> Result<BTreeSet<Day>> {
    let sql = "SELECT CAST(SUBSTRING(c.relname FROM '[0-9]+$') AS INTEGER) AS day FROM pg_inherits i \
               JOIN pg_class c ON c.oid = i.inhrelid \
               WHERE i.inhparent = 'usage_slices'::regclass AND c.relname ~ '^usage_slices_day_[0-9]+$'";
    let rows = db.query_all_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    rows.iter().map(|row| Ok(Day(row.try_get("", "day")?))).collect()
}

fn partition(day: Day) -> String {
    format!("usage_slices_day_{}", day.0)
}

/// Makes the partition of a day, and moves into it what is already there of the day.
async fn make(tx: &Tx, day: Day) -> Result<()> {
    let name = partition(day);
    // A record that ends at midnight belongs to the day before.
    let (from, to) = (day.start().micros() + 1, day.plus(1).start().micros() + 1);
    for sql in [
        format!("CREATE TABLE {name} (LIKE usage_slices INCLUDING ALL)"),
        // Records come in the order of the key, so that pages of the index need no room for more.
        format!("ALTER INDEX {name}_pkey SET (fillfactor = 100)"),
        format!(
            "WITH moved AS (DELETE FROM usage_slices_other WHERE period_end >= {from} AND period_end < {to} RETURNING *) \
             INSERT INTO {name} SELECT * FROM moved"
        ),
        format!("ALTER TABLE usage_slices ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"),
    ] {
        tx.execute_unprepared(&sql).await?;
    }
    Ok(())
}

/// Whether a group has records of the day that were not purged.
async fn is_needed(tx: &Tx, day: Day) -> Result<bool> {
    let sql = format!(
        "SELECT 1 AS needed FROM resource_groups g WHERE (g.records_from_day IS NULL OR g.records_from_day <= {}) \
         AND EXISTS (SELECT 1 FROM {} s WHERE s.group_key = g.group_key) LIMIT 1",
        day.0,
        partition(day)
    );
    Ok(tx.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?.is_some())
}
