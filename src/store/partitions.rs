//! Partitions of the records: on `PostgreSQL` each day has a partition of `usage_slices`, so that a day is removed at once.
//! A partition is created before its day is written. Records of a day without a partition are stored in `usage_slices_other`
//! until the day gets its own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::{Result, Store, Tx};
use crate::domain::time::Day;

/// The days of which this process knows that they have a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownPartitions {
    days: Arc<Mutex<BTreeSet<Day>>>,
    /// The number of records that were found outside the partition of their day.
    strays: Arc<AtomicU64>,
}

impl KnownPartitions {
    fn lack(&self, days: impl Iterator<Item = Day>) -> Vec<Day> {
        let known = self.days.lock().unwrap_or_else(PoisonError::into_inner);
        days.filter(|day| !known.contains(day)).collect()
    }

    fn remember_days(&self, days: BTreeSet<Day>) {
        *self.days.lock().unwrap_or_else(PoisonError::into_inner) = days;
    }
}

/// Partitions that are created in one transaction.
const AT_ONCE: usize = 20;
/// The columns of `usage_slices`.
const COLUMNS: &str = "group_key, period_end, kernel_key, period_start, kind, slices";
/// The advisory lock with which one process at a time creates or removes partitions. The number has no meaning.
const PARTITION_LOCK: i64 = 20_260_113;
/// The longest wait of a change of partitions for readers. Other statements wait behind it for as long.
const LIMIT_PARTITION_LOCKS: &str = "SET LOCAL lock_timeout = '2s'";

impl Store {
    /// True if records are stored in partitions.
    pub fn has_partitions(&self) -> bool {
        self.backend() == DbBackend::Postgres
    }

    /// Forgets the days that have a partition, so that they are read again.
    pub fn forget_partitions(&self) {
        self.partitions.remember_days(BTreeSet::new());
    }

    /// Creates partitions for the days from `first` to `last` that have none.
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
                    create_partition(&tx, *day).await?;
                }
            }
            tx.commit().await?;
            self.partitions.remember_days(known);
        }
        Ok(())
    }

    /// Removes the partitions of days before `before` in which no group has records any more.
    #[tracing::instrument(name = "db.partitions.drop", level = "debug", skip_all, err(level = "debug"))]
    pub async fn drop_purged_days(&self, before: Day) -> Result<()> {
        if !self.has_partitions() {
            return Ok(());
        }
        let tx = self.begin().await?;
        let mut known = lock(&tx).await?;
        for day in known.range(..before).copied().collect::<Vec<_>>() {
            // A day that is still needed is not locked, so that its readers do not wait.
            if is_needed(&tx, day).await? {
                // Purges go by day, so later days are needed too.
                break;
            }
            // The table is locked before its partition, as every reader does. In the other order the two could deadlock.
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
        self.partitions.remember_days(known);
        Ok(())
    }

    /// Rewrites the partition of a day without the space that removed records have left, once no group will remove more of
    /// them.
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

    /// Counts the records outside the partition of their day, for days since the first partition.
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

    /// The last result of [`Store::stray_records`].
    pub fn known_strays(&self) -> u64 {
        self.partitions.strays.load(Ordering::Relaxed)
    }
}

/// Keeps other processes from changing partitions until the transaction ends. Returns the days that have a partition.
async fn lock(tx: &Tx) -> Result<BTreeSet<Day>> {
    tx.execute_unprepared(LIMIT_PARTITION_LOCKS).await?;
    tx.execute_unprepared(&format!("SELECT pg_advisory_xact_lock({PARTITION_LOCK})")).await?;
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

/// Creates the partition of a day, and moves the existing records of the day into it.
async fn create_partition(tx: &Tx, day: Day) -> Result<()> {
    let name = partition(day);
    // A record that ends at midnight belongs to the day before.
    let (from, to) = (day.start().micros() + 1, day.plus(1).start().micros() + 1);
    for sql in [
        format!("CREATE TABLE {name} (LIKE usage_slices INCLUDING ALL)"),
        // Records are inserted in the order of the key, so that index pages need no free space.
        format!("ALTER INDEX {name}_pkey SET (fillfactor = 100)"),
        format!(
            "WITH moved AS (DELETE FROM usage_slices_other WHERE period_end >= {from} AND period_end < {to} RETURNING {COLUMNS}) \
             INSERT INTO {name} ({COLUMNS}) SELECT {COLUMNS} FROM moved"
        ),
        format!("ALTER TABLE usage_slices ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"),
    ] {
        tx.execute_unprepared(&sql).await?;
    }
    Ok(())
}

/// True if a group has records of the day that were not purged.
async fn is_needed(tx: &Tx, day: Day) -> Result<bool> {
    let sql = format!(
        "SELECT 1 AS needed FROM resource_groups g WHERE (g.records_from_day IS NULL OR g.records_from_day <= {}) \
         AND EXISTS (SELECT 1 FROM {} s WHERE s.group_key = g.group_key) LIMIT 1",
        day.0,
        partition(day)
    );
    Ok(tx.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?.is_some())
}
