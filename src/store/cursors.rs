//! The accounting cursors of kernels that runs still have to record (FAIR_SHARE §3): on the group's cursor, or on their own.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict, Query, SelectStatement, SimpleExpr};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, DeleteMany, EntityTrait, QueryFilter, RelationDef, Statement};

use super::entity::kernel;
use super::entity::kernel_cursor::{ActiveModel, Column, Entity};
use super::kernel_keys::of_group;
use super::{Result, bulk};
use crate::domain::changes::SuspensionChanges;
use crate::domain::ids::{GroupKey, KernelKey};
use crate::domain::kernel::{ChangedKernels, Kernel};
use crate::domain::time::Timestamp;

/// The SQL of the cursor of a kernel that runs still have to record.
pub(super) const CURSOR_SQL: &str =
    "CASE WHEN kernel_cursors.in_step THEN resource_groups.recorded_until ELSE kernel_cursors.recorded_until END";

pub(super) fn cursor_of_kernel() -> RelationDef {
    kernel::Entity::belongs_to(Entity).from(kernel::Column::KernelKey).to(Column::KernelKey).into()
}

/// Inserts and removes cursors, so that exactly the kernels with something left to record have one. New cursors are of
/// kernels that were reported at `seen_at`.
#[tracing::instrument(name = "db.cursors.save", level = "debug", skip_all, err(level = "debug"))]
pub async fn save(db: &impl ConnectionTrait, kernels: &ChangedKernels, seen_at: Timestamp) -> Result<()> {
    let was_open = |old: &Option<Kernel>| old.as_ref().is_some_and(|k| !k.settled);
    let opened = kernels.iter().filter(|(old, new)| !new.settled && !was_open(old));
    insert(db, opened.filter_map(|(_, kernel)| OwnCursor::of(kernel)), seen_at).await?;
    let has_more_applied = |old: &Option<Kernel>, new: &Kernel| old.as_ref().is_some_and(|k| k.applied != new.applied);
    let reapplied = kernels.iter().filter(|(old, new)| was_open(old) && has_more_applied(old, new));
    let reapplied = reapplied.filter_map(|(_, kernel)| Some(OwnCursor::of(kernel)?.row(seen_at)));
    let mut replace = OnConflict::column(Column::KernelKey);
    replace.update_column(Column::AppliedChanges);
    bulk::insert(db, reapplied, Some(replace)).await?;
    let closed = kernels.iter().filter(|(old, new)| new.settled && was_open(old)).filter_map(|(_, k)| k.key);
    close(db, &closed.collect::<Vec<_>>()).await
}

/// A cursor of its own, for a kernel that is not on its group's cursor.
#[derive(PartialEq)]
struct OwnCursor<'a> {
    key: KernelKey,
    recorded_until: Option<Timestamp>,
    /// `None` (no change applied) differs from all changes applied.
    applied: Option<&'a SuspensionChanges>,
}

impl<'a> OwnCursor<'a> {
    fn of(kernel: &'a Kernel) -> Option<Self> {
        Some(Self { key: kernel.key?, recorded_until: kernel.cursor, applied: kernel.applied.as_ref() })
    }

    /// True if `next` differs only in its key, which is the next one.
    fn is_followed_by(&self, next: &Self) -> bool {
        *next == Self { key: KernelKey(self.key.0 + 1), ..*self }
    }

    fn row(&self, seen_at: Timestamp) -> ActiveModel {
        ActiveModel {
            kernel_key: Set(self.key.0),
            recorded_until: Set(self.recorded_until.map(Timestamp::micros)),
            in_step: Set(false),
            applied_changes: Set(self.applied.map(SuspensionChanges::to_string)),
            seen_at: Set(Some(seen_at.micros())),
        }
    }
}

/// Inserts cursors. Kernels that were reported together mostly have equal cursors and consecutive keys; the database
/// generates their rows.
async fn insert(db: &impl ConnectionTrait, new: impl Iterator<Item = OwnCursor<'_>>, seen_at: Timestamp) -> Result<()> {
    let new: Vec<OwnCursor> = new.collect();
    let (runs, single) = in_runs(&new, OwnCursor::is_followed_by);
    for (first, last) in runs {
        insert_run(db, first, last.key, seen_at).await?;
    }
    bulk::insert(db, single.into_iter().map(|cursor| cursor.row(seen_at)), None).await?;
    Ok(())
}

/// Inserts cursors like `first` for all keys from its own to `last`.
async fn insert_run(
    db: &impl ConnectionTrait,
    first: &OwnCursor<'_>,
    last: KernelKey,
    seen_at: Timestamp,
) -> Result<()> {
    let backend = db.get_database_backend();
    let keys = match backend {
        DbBackend::Postgres => "SELECT generate_series($1::bigint, $2::bigint)",
        _ => "SELECT $1 UNION ALL SELECT key + 1 FROM keys WHERE key < $2",
    };
    let sql = format!(
        "WITH RECURSIVE keys (key) AS ({keys}) \
         INSERT INTO kernel_cursors (kernel_key, recorded_until, in_step, applied_changes, seen_at) \
         SELECT key, $3, FALSE, $4, $5 FROM keys"
    );
    let values = [
        first.key.0.into(),
        last.0.into(),
        first.recorded_until.map(Timestamp::micros).into(),
        first.applied.map(SuspensionChanges::to_string).into(),
        seen_at.micros().into(),
    ];
    db.execute_raw(Statement::from_sql_and_values(backend, sql, values)).await?;
    Ok(())
}

/// Notes that kernels were reported at `at`.
#[tracing::instrument(name = "db.cursors.set_seen", level = "debug", skip_all, err(level = "debug"))]
pub async fn set_seen(db: &impl ConnectionTrait, keys: &[KernelKey], at: Timestamp) -> Result<()> {
    for cursors in cursor_conditions(db, keys) {
        let note = Entity::update_many().col_expr(Column::SeenAt, Expr::value(at.micros()));
        note.filter(cursors).exec(db).await?;
    }
    Ok(())
}

async fn close(db: &impl ConnectionTrait, keys: &[KernelKey]) -> Result<()> {
    for cursors in cursor_conditions(db, keys) {
        Entity::delete_many().filter(cursors).exec(db).await?;
    }
    Ok(())
}

/// Inserts cursors again, on the group's cursor, for kernels that end after `now` and were counted as recorded to their
/// ends.
#[tracing::instrument(name = "db.cursors.reopen", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn reopen(db: &impl ConnectionTrait, group: GroupKey, now: Timestamp) -> Result<()> {
    let sql = "INSERT INTO kernel_cursors (kernel_key, recorded_until, in_step) \
               SELECT k.kernel_key, NULL, TRUE FROM kernels k WHERE k.group_key = $1 \
               AND k.started_at IS NOT NULL AND k.terminated_at > $2 AND NOT EXISTS (SELECT 1 FROM kernel_cursors c \
               WHERE c.kernel_key = k.kernel_key)";
    let values = [group.0.into(), now.micros().into()];
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await?;
    Ok(())
}

/// From this number of consecutive keys on, a statement of their own costs less than a place in one with others.
const LONG_RUN: usize = 500;

/// Conditions that select the cursors of `keys`, one for each statement. Consecutive keys become a range, which the first
/// and the last key determine.
fn cursor_conditions(db: &impl ConnectionTrait, keys: &[KernelKey]) -> Vec<SimpleExpr> {
    let column = Column::KernelKey;
    let (runs, single) = in_runs(keys, |a, b| a.0 + 1 == b.0);
    let runs = runs.into_iter().map(|(first, last)| column.between(first.0, last.0));
    let single = single.chunks(bulk::MAX_IDS).map(|part| bulk::one_of(db, column, part.iter().map(|key| key.0)));
    runs.chain(single).collect()
}

/// The first and the last element of each long run of consecutive elements, and all elements outside such runs.
fn in_runs<T>(all: &[T], follow: impl Fn(&T, &T) -> bool) -> (Vec<(&T, &T)>, Vec<&T>) {
    let (mut runs, mut single) = (Vec::new(), Vec::new());
    for run in all.chunk_by(follow) {
        match run {
            [first, .., last] if run.len() >= LONG_RUN => runs.push((first, last)),
            _ => single.extend(run),
        }
    }
    (runs, single)
}

/// Deletes the cursors of a whole group.
pub(super) fn of_all(group: GroupKey) -> DeleteMany<Entity> {
    Entity::delete_many().filter(of_group(Column::KernelKey, group))
}

/// The keys of the cursors of a group.
pub(super) fn open(group: GroupKey) -> SelectStatement {
    Query::select().column(Column::KernelKey).from(Entity).cond_where(of_group(Column::KernelKey, group)).to_owned()
}

/// The state in which a run leaves the kernels that it has recorded.
#[derive(Clone, Debug, Default)]
pub struct RunProgress {
    /// Kernels that are recorded to their ends.
    pub settled: Vec<KernelKey>,
    /// Kernels that are on the group's cursor from now on.
    pub in_step: Vec<KernelKey>,
    /// Kernels whose records follow from the changes of status that are known now.
    pub recounted: Vec<KernelKey>,
    /// Kernels that are recorded until the run, with cursors of their own because the group's cursor is elsewhere: it is
    /// later if the clock jumped back, or it is where an earlier step of the run has left it.
    pub apart: Vec<KernelKey>,
    /// Kernels that no longer have any record.
    pub unrecorded: Vec<KernelKey>,
}

impl RunProgress {
    pub fn count(&self) -> usize {
        let moved = self.in_step.len() + self.apart.len() + self.unrecorded.len();
        self.settled.len() + moved + self.recounted.len()
    }
}

/// Moves cursors (FAIR_SHARE §3). Kernels that are on the group's cursor already need no write.
#[tracing::instrument(name = "db.cursors.advance", level = "debug", skip_all, err(level = "debug"))]
pub async fn advance_cursors(db: &impl ConnectionTrait, progress: &RunProgress, now: Timestamp) -> Result<()> {
    close(db, &progress.settled).await?;
    let apart =
        |until: Option<i64>| vec![(Column::InStep, Expr::value(false)), (Column::RecordedUntil, Expr::value(until))];
    let moves = [
        (&progress.in_step, vec![(Column::InStep, Expr::value(true))]),
        (&progress.apart, apart(Some(now.micros()))),
        (&progress.unrecorded, apart(None)),
        (&progress.recounted, vec![(Column::AppliedChanges, Expr::value(None::<String>))]),
    ];
    for (keys, values) in moves {
        for cursors in cursor_conditions(db, keys) {
            let mut update = Entity::update_many().filter(cursors);
            for (column, value) in &values {
                update = update.col_expr(*column, value.clone());
            }
            update.exec(db).await?;
        }
    }
    Ok(())
}
