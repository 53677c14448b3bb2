//! Usage that counts for the placeholder domain, in day totals of runs and of histories, and its move to another domain.

use std::collections::{BTreeMap, BTreeSet};

use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use uuid::Uuid;

use super::{MemberDomain, member};
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{GroupKey, ProjectId};
use crate::domain::time::Day;
use crate::store::decode::{self, DimensionsDecoder};
use crate::store::entity::{day_total, kernel};
use crate::store::{Result, bulk};

pub use super::RECORDED;

/// Totals by day and place.
pub type TotalsByPlace = BTreeMap<(Day, MemberDomain), DayUsage>;

/// The projects of a group that have kernels or usage in a domain.
#[tracing::instrument(name = "db.placeholder.projects", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn projects(db: &impl ConnectionTrait, group: GroupKey, domain: &str) -> Result<BTreeSet<ProjectId>> {
    let mut found: BTreeSet<ProjectId> = BTreeSet::new();
    macro_rules! add {
        ($($table:ident)*) => {$(
            let rows = $table::Entity::find().select_only().column($table::Column::ProjectId).distinct();
            let rows = rows.filter($table::Column::GroupKey.eq(group.0)).filter($table::Column::DomainName.eq(domain));
            let rows: Vec<Uuid> = rows.into_tuple().all(db).await?;
            found.extend(rows.into_iter().map(ProjectId));
        )*};
    }
    add!(kernel day_total);
    Ok(found)
}

/// The rows of a domain, each with its source and its day.
#[tracing::instrument(name = "db.placeholder.rows", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn rows(
    db: &impl ConnectionTrait,
    group: GroupKey,
    domain: &str,
) -> Result<Vec<(i32, Day, MemberDomain, DayUsage)>> {
    use day_total::Column::{ChargeClass, DomainName, GroupKey, ProjectId, Records, ResourceUsage, Source, UserUuid};
    let columns = [Source, day_total::Column::Day, UserUuid, ProjectId, ChargeClass, ResourceUsage, Records];
    let rows = day_total::Entity::find().filter(GroupKey.eq(group.0)).filter(DomainName.eq(domain));
    let rows: Vec<(i32, i32, Uuid, Uuid, String, String, i64)> =
        rows.select_only().columns(columns).into_tuple().all(db).await?;
    let mut dimensions = DimensionsDecoder::default();
    let row = |(source, day, user, project, class, usage, records): (i32, i32, Uuid, Uuid, String, String, i64)| {
        let daily = DayUsage { usage: decode::slots(&usage)?, records: records.unsigned_abs() };
        Ok((source, Day(day), (member(user, project), dimensions.decode(domain, &class)), daily))
    };
    rows.into_iter().map(row).collect()
}

/// Removes the rows of some projects in a domain, of any source.
#[tracing::instrument(name = "db.placeholder.remove_rows", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn remove_rows(
    db: &impl ConnectionTrait,
    group: GroupKey,
    domain: &str,
    projects: &[ProjectId],
) -> Result<()> {
    use day_total::Column::{DomainName, GroupKey};
    for part in projects.chunks(bulk::MAX_IDS) {
        let those = bulk::one_of(db, day_total::Column::ProjectId, part.iter().map(|project| project.0));
        let rows = Condition::all().add(GroupKey.eq(group.0)).add(DomainName.eq(domain)).add(those);
        day_total::Entity::delete_many().filter(rows).exec(db).await?;
    }
    Ok(())
}

/// Moves kernels of some projects from the domain `from` to the domain `to`.
#[tracing::instrument(name = "db.placeholder.move_kernels", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn move_kernels(
    db: &impl ConnectionTrait,
    group: GroupKey,
    from: &str,
    to: &str,
    projects: &[ProjectId],
) -> Result<()> {
    use kernel::Column::{DomainName, GroupKey};
    for part in projects.chunks(bulk::MAX_IDS) {
        let those = bulk::one_of(db, kernel::Column::ProjectId, part.iter().map(|project| project.0));
        let update = kernel::Entity::update_many().col_expr(DomainName, Expr::value(to));
        update.filter(GroupKey.eq(group.0)).filter(DomainName.eq(from)).filter(those).exec(db).await?;
    }
    Ok(())
}
