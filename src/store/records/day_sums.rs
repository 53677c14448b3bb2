//! The sums of the records of one day, by user, project and dimensions.

use std::collections::BTreeMap;

use sea_orm::{ConnectionTrait, FromQueryResult, Statement};
use uuid::Uuid;

use crate::domain::bucket::DayUsage;
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, Member, ProjectId, UserId};
use crate::domain::time::Day;
use crate::domain::usage_dimensions::UsageDimensions;
use crate::store::decode::{DimensionsDecoder, SlotDecoder};
use crate::store::{Result, StoreError};

/// A member, and the dimensions of its usage.
pub type MemberDomain = (Member, UsageDimensions);
/// The usage of one day by place.
pub type OfDay = BTreeMap<MemberDomain, DayUsage>;

#[derive(FromQueryResult)]
struct DaySumRow {
    user_uuid: Uuid,
    project_id: Uuid,
    kind: i32,
    domain_name: Option<String>,
    charge_class: Option<String>,
    held: Option<String>,
    micros: i64,
    slices: i64,
}

/// The sum of times multiplied by the slots equals the sum of usages exactly. Therefore the database adds up times, and
/// returns only sums.
const SUMS_SQL: &str = "SELECT k.user_uuid, k.project_id, t.kind, d.domain_name, d.charge_class, d.slots AS held, \
     CAST(SUM(t.micros) AS BIGINT) AS micros, CAST(SUM(t.slices) AS BIGINT) AS slices FROM (\
     SELECT kernel_key, kind, SUM(period_end - period_start) AS micros, SUM(slices) AS slices FROM usage_slices \
     WHERE group_key = $1 AND period_end > $2 AND period_end <= $3 GROUP BY kernel_key, kind) t \
     JOIN kernels k ON k.kernel_key = t.kernel_key LEFT JOIN slice_kinds d ON d.group_key = $1 AND d.kind = t.kind \
     GROUP BY k.user_uuid, k.project_id, t.kind, d.domain_name, d.charge_class, d.slots";

/// The sums of the records of one day.
#[tracing::instrument(name = "db.records.day_sums", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn of_day(db: &impl ConnectionTrait, group: GroupKey, day: Day) -> Result<OfDay> {
    let values = [group.0.into(), day.start().micros().into(), day.plus(1).start().micros().into()];
    let rows =
        DaySumRow::find_by_statement(Statement::from_sql_and_values(db.get_database_backend(), SUMS_SQL, values));
    let (mut slots, mut dimensions) = (SlotDecoder::<Amount>::new(), DimensionsDecoder::default());
    let mut sums = OfDay::new();
    for row in rows.all(db).await? {
        let (Some(domain), Some(class), Some(held)) = (row.domain_name, row.charge_class, row.held) else {
            return Err(StoreError::Damaged(format!("there is no slice kind {}", row.kind)));
        };
        let member = Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) };
        let usage = slots.decode(&held)?.for_micros(row.micros.unsigned_abs());
        let place = (member, dimensions.decode(&domain, &class));
        sums.entry(place).or_default().add_records(&usage, row.slices.unsigned_abs());
    }
    Ok(sums)
}
