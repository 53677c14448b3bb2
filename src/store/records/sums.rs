//! The slots that users held in a period, summed from records.

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DbBackend, FromQueryResult, Statement};
use uuid::Uuid;

use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, Member, ProjectId, UserId};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::TimeSpan;
use crate::store::decode::SlotDecoder;
use crate::store::{Result, StoreError};

/// The time for which the kernels of a user together held the same slots.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldTime {
    pub owner: Member,
    pub slots: Arc<SlotAmounts>,
    pub micros: u64,
}

#[derive(FromQueryResult)]
struct SumRow {
    user_uuid: Uuid,
    project_id: Uuid,
    kind: i32,
    held: Option<String>,
    micros: i64,
}

/// The parts of a group's records that lie in a period, by user and by slots.
#[tracing::instrument(name = "db.records.of_users", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn of_users(db: &impl ConnectionTrait, group: GroupKey, span: TimeSpan) -> Result<Vec<HeldTime>> {
    let (least, most) = match db.get_database_backend() {
        DbBackend::Postgres => ("LEAST", "GREATEST"),
        _ => ("MIN", "MAX"),
    };
    // A record ends at most a day after it begins.
    let sql = format!(
        "SELECT u.user_uuid, u.project_id, u.kind, d.slots AS held, u.micros FROM (\
         SELECT k.user_uuid, k.project_id, s.kind, \
         CAST(SUM({least}(s.period_end, $3) - {most}(s.period_start, $2)) AS BIGINT) AS micros \
         FROM usage_slices s JOIN kernels k ON k.kernel_key = s.kernel_key \
         WHERE s.group_key = $1 AND s.period_end > $2 AND s.period_end <= $4 AND s.period_start < $3 \
         GROUP BY k.user_uuid, k.project_id, s.kind) u \
         LEFT JOIN slice_kinds d ON d.group_key = $1 AND d.kind = u.kind ORDER BY u.user_uuid, u.project_id, u.kind"
    );
    let values = [span.start.micros().into(), span.end.micros().into(), span.end.midnight().micros().into()];
    let values = [vec![group.0.into()], values.into()].concat();
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    let rows = SumRow::find_by_statement(statement).all(db).await?;
    let mut slots = SlotDecoder::<Amount>::new();
    let held = |row: SumRow| {
        let held = row.held.ok_or_else(|| StoreError::Damaged(format!("there is no slice kind {}", row.kind)))?;
        Ok(HeldTime {
            owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
            slots: slots.decode(&held)?,
            micros: row.micros.unsigned_abs(),
        })
    };
    rows.into_iter().map(held).collect()
}
