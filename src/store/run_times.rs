//! The run times of kernels by owner and by the day of their end.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, StreamTrait};
use uuid::Uuid;

use super::entity::run_time::{ActiveModel, Column, Entity};
use super::entity::{kernel, kernel_cursor};
use super::kernels::{changes, expected};
use super::retention::remove_some;
use super::{Result, StoreError, bulk};
use crate::domain::ids::{GroupKey, Member, ProjectId, UserId};
use crate::domain::run_times::RunTimes;
use crate::domain::time::{Day, Timestamp};

/// Run times by the day on which kernels ended, and by their owner.
pub type RunTimesByDay = BTreeMap<(Day, Member), RunTimes>;

pub(super) fn decode(text: &str) -> Result<RunTimes> {
    text.parse().map_err(|_| StoreError::Damaged(format!("run times {text}")))
}

fn member(user: Uuid, project: Uuid) -> Member {
    Member { user: UserId(user), project: ProjectId(project) }
}

/// Adds to the stored run times. A row that becomes zero stays until it is purged.
#[tracing::instrument(name = "db.run_times.add", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn add(db: &impl ConnectionTrait, group: GroupKey, more: &RunTimesByDay) -> Result<()> {
    let mut sums = more.clone();
    let keys: Vec<(Day, Member)> = more.keys().copied().collect();
    for of_day in keys.chunk_by(|a, b| a.0 == b.0) {
        for part in of_day.chunks(bulk::MAX_IDS) {
            let place = [(Column::GroupKey, group.0.into()), (Column::Day, part[0].0.0.into())];
            let users = part.iter().map(|(_, owner)| owner.user.0);
            let known: Vec<(Uuid, Uuid, String)> = Entity::find()
                .select_only()
                .columns([Column::UserUuid, Column::ProjectId, Column::Times])
                .filter(bulk::one_of_place(db, &place, Column::UserUuid, users))
                .into_tuple()
                .all(db)
                .await?;
            for (user, project, times) in known {
                let key = (part[0].0, member(user, project));
                // The user's other projects may be in the next part.
                if part.binary_search(&key).is_ok()
                    && let Some(sum) = sums.get_mut(&key)
                {
                    *sum += decode(&times)?;
                }
            }
        }
    }
    replace_sums(db, group, &sums).await
}

async fn replace_sums(db: &impl ConnectionTrait, group: GroupKey, sums: &RunTimesByDay) -> Result<()> {
    let rows = sums.iter().map(|((day, owner), times)| ActiveModel {
        group_key: Set(group.0),
        day: Set(day.0),
        user_uuid: Set(owner.user.0),
        project_id: Set(owner.project.0),
        times: Set(times.to_string()),
    });
    let mut replace = OnConflict::columns([Column::GroupKey, Column::Day, Column::UserUuid, Column::ProjectId]);
    replace.update_column(Column::Times);
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

/// The sums of each owner over all days from `from` on.
#[tracing::instrument(name = "db.run_times.since", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn sums_since(
    db: &(impl ConnectionTrait + StreamTrait),
    group: GroupKey,
    from: Day,
) -> Result<BTreeMap<Member, RunTimes>> {
    let mut rows = Entity::find()
        .select_only()
        .columns([Column::UserUuid, Column::ProjectId, Column::Times])
        .filter(Column::GroupKey.eq(group.0))
        .filter(Column::Day.gte(from.0))
        .into_tuple::<(Uuid, Uuid, String)>()
        .stream(db)
        .await?;
    let mut sums: BTreeMap<Member, RunTimes> = BTreeMap::new();
    while let Some((user, project, times)) = rows.try_next().await? {
        *sums.entry(member(user, project)).or_default() += decode(&times)?;
    }
    Ok(sums)
}

/// Rebuilds the sums of all days from `from` on, from the kernels of the group whose usage is recorded to the end.
#[tracing::instrument(name = "db.run_times.rebuild", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn rebuild(db: &(impl ConnectionTrait + StreamTrait), group: GroupKey, from: Day) -> Result<()> {
    type Row = (Uuid, Uuid, i64, i64, Option<String>, Option<i32>);
    use kernel::Column as Kernel;
    let mut sums = RunTimesByDay::new();
    {
        let mut rows = kernel::Entity::find()
            .join(sea_orm::JoinType::LeftJoin, super::cursors::cursor_of_kernel())
            .select_only()
            .columns([
                Kernel::UserUuid,
                Kernel::ProjectId,
                Kernel::StartedAt,
                Kernel::TerminatedAt,
                Kernel::StatusChanges,
                Kernel::ExpectedSeconds,
            ])
            .filter(Kernel::GroupKey.eq(group.0))
            .filter(Kernel::StartedAt.is_not_null())
            .filter(Kernel::TerminatedAt.gte(from.start().micros()))
            .filter(kernel_cursor::Column::KernelKey.is_null())
            .into_tuple::<Row>()
            .stream(db)
            .await?;
        while let Some((user, project, start, end, status_changes, expected_seconds)) = rows.try_next().await? {
            let (start, end) = (Timestamp::from_micros(start), Timestamp::from_micros(end));
            let times = RunTimes::of(start, end, &changes(status_changes.as_deref())?, expected(expected_seconds));
            *sums.entry((end.day(), member(user, project))).or_default() += times;
        }
    }
    Entity::delete_many().filter(Column::GroupKey.eq(group.0)).filter(Column::Day.gte(from.0)).exec(db).await?;
    replace_sums(db, group, &sums).await
}

/// Removes at most `most` sums of days before `before`. Returns their number.
#[tracing::instrument(name = "db.run_times.purge", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: GroupKey, before: Day, most: u64) -> Result<u64> {
    let old = Entity::find().filter(Column::GroupKey.eq(group.0)).filter(Column::Day.lt(before.0));
    remove_some(db, old, most).await
}
