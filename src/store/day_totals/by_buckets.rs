//! Day totals that equal a bucket and need no row: those of users with a bucket of that day alone, if their project counted
//! for one domain on the day.

use std::collections::BTreeMap;
use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};
use uuid::Uuid;

use super::{OfDay, RECORDED};
use crate::domain::ids::{GroupKey, ProjectId};
use crate::domain::time::Day;
use crate::store::entity::bucket_domain::{ActiveModel, Column, Entity};
use crate::store::entity::{bucket_total, day_total};
use crate::store::{Result, bulk};

/// Projects of one day whose totals follow from buckets, with the domain of each.
pub type Domains = BTreeMap<ProjectId, Arc<str>>;

fn of_group(group: GroupKey) -> Select<Entity> {
    Entity::find().filter(Column::GroupKey.eq(group.0))
}

/// The first day, from `from` on, with totals that follow from buckets.
#[tracing::instrument(name = "db.by_buckets.next_day", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn next_day(db: &impl ConnectionTrait, group: GroupKey, from: Day) -> Result<Option<Day>> {
    let first = of_group(group).select_only().column(Column::Day).filter(Column::Day.gte(from.0));
    let day: Option<i32> = first.order_by_asc(Column::Day).limit(1).into_tuple().one(db).await?;
    Ok(day.map(Day))
}

/// The totals of a day that follow from buckets.
#[tracing::instrument(name = "db.by_buckets.of_day", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn of_day(db: &impl ConnectionTrait, group: GroupKey, day: Day) -> Result<OfDay> {
    use bucket_total::Column::{DomainName, ProjectId, Records, ResourceUsage, UserUuid};
    super::read(db, totals(group, day), [UserUuid, ProjectId, DomainName, ResourceUsage, Records]).await
}

fn totals(group: GroupKey, day: Day) -> Select<bucket_total::Entity> {
    use bucket_total::{Column, Entity};
    Entity::find().filter(Column::GroupKey.eq(group.0)).filter(Column::Day.eq(day.0))
}

/// The projects of a day whose totals follow from buckets.
#[tracing::instrument(name = "db.by_buckets.domains", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn domains(db: &impl ConnectionTrait, group: GroupKey, day: Day) -> Result<Domains> {
    let rows = of_group(group).select_only().columns([Column::ProjectId, Column::DomainName]);
    let rows: Vec<(Uuid, String)> = rows.filter(Column::Day.eq(day.0)).into_tuple().all(db).await?;
    Ok(rows.into_iter().map(|(project, domain)| (ProjectId(project), Arc::from(domain))).collect())
}

/// Marks projects whose totals follow from buckets from now on. This applies to users with a bucket of that day alone, who
/// must have no rows.
#[tracing::instrument(name = "db.by_buckets.begin", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn begin(db: &impl ConnectionTrait, group: GroupKey, day: Day, domains: &Domains) -> Result<()> {
    let row = |(project, domain): (&ProjectId, &Arc<str>)| ActiveModel {
        group_key: Set(group.0),
        day: Set(day.0),
        project_id: Set(project.0),
        domain_name: Set(domain.to_string()),
    };
    bulk::insert(db, domains.iter().map(row), None).await?;
    Ok(())
}

/// Unmarks projects: from now on their totals have rows.
#[tracing::instrument(name = "db.by_buckets.end", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn end(db: &impl ConnectionTrait, group: GroupKey, day: Day, projects: &[ProjectId]) -> Result<()> {
    let place = [(Column::GroupKey, group.0.into()), (Column::Day, day.0.into())];
    for part in projects.chunks(bulk::MOST_IDS) {
        let those = bulk::one_of_place(db, &place, Column::ProjectId, part.iter().map(|project| project.0));
        Entity::delete_many().filter(those).exec(db).await?;
    }
    Ok(())
}

/// Writes rows for the totals of a day and some projects that follow from the stored buckets.
#[tracing::instrument(name = "db.by_buckets.spell_out", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn spell_out(db: &impl ConnectionTrait, group: GroupKey, day: Day, projects: &[ProjectId]) -> Result<()> {
    use bucket_total::Column::{self, DomainName, GroupKey, ProjectId, Records, ResourceUsage, UserUuid};
    use day_total::Column as Row;
    let columns = [Row::GroupKey, Row::Day, Row::UserUuid, Row::ProjectId, Row::DomainName, Row::Source];
    for part in projects.chunks(bulk::MOST_IDS) {
        let of_projects = bulk::one_of(db, Column::ProjectId, part.iter().map(|project| project.0));
        let told = totals(group, day).filter(of_projects).select_only();
        let told = told.columns([GroupKey, Column::Day, UserUuid, ProjectId, DomainName]);
        let told = told.expr(Expr::value(RECORDED)).columns([ResourceUsage, Records]);
        let mut insert = Query::insert();
        insert
            .into_table(day_total::Entity)
            .columns(columns.into_iter().chain([Row::ResourceUsage, Row::Records]))
            .select_from(told.into_query())
            .map_err(|error| DbErr::Custom(error.to_string()))?
            // A damaged database may have the row already, and a run must not fail for that.
            .on_conflict(super::rule());
        db.execute(&insert).await?;
    }
    Ok(())
}

/// Removes the marks of days before `before`, whose buckets are purged. Returns the number of rows removed.
#[tracing::instrument(name = "db.by_buckets.purge", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: GroupKey, before: Day) -> Result<u64> {
    let old = Entity::delete_many().filter(Column::GroupKey.eq(group.0)).filter(Column::Day.lt(before.0));
    Ok(old.exec(db).await?.rows_affected)
}
