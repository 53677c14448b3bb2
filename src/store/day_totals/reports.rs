//! Day totals of several groups as reports read them: one by one, those of runs and those of whole histories alike.

use std::ops::ControlFlow;
use std::sync::Arc;

use futures::TryStreamExt;
use hashbrown::HashSet;
use sea_orm::sea_query::{Condition, Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect, StreamTrait,
};
use uuid::Uuid;

use super::{Place, RECORDED, member};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::slots::Usages;
use crate::domain::time::Day;
use crate::store::entity::day_total::{Column, Entity};
use crate::store::{Result, StoreError, bulk, decode};

/// Totals between which other tasks of the thread get their turn.
const TOTALS_BETWEEN_YIELDS: usize = 500;

/// Which totals are wanted. Both days are included.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub groups: Vec<GroupKey>,
    pub from: Day,
    pub to: Day,
    /// The domain that the usage counted for.
    pub domain: Option<Arc<str>>,
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
}

/// What counts of one place on one day.
pub struct DayTotal {
    pub group: GroupKey,
    pub day: Day,
    pub place: Place,
    pub usage: Usages,
}

impl Wanted {
    fn condition(&self, db: &impl ConnectionTrait) -> Condition {
        // Of one user the days are looked up one by one, instead of reading those of all users.
        let days = if self.user.is_some() {
            bulk::one_of(db, Column::Day, self.from.0..=self.to.0)
        } else {
            Column::Day.between(self.from.0, self.to.0)
        };
        let whole = Expr::cust(
            "source IN (SELECT h.source FROM usage_histories h WHERE h.group_key = day_totals.group_key AND h.complete)",
        );
        Condition::all()
            .add(Column::GroupKey.is_in(self.groups.iter().map(|group| group.0)))
            .add(days)
            .add_option(self.domain.as_deref().map(|domain| Column::DomainName.eq(domain)))
            .add_option(self.user.map(|user| Column::UserUuid.eq(user.0)))
            .add_option(self.project.map(|project| Column::ProjectId.eq(project.0)))
            .add(Column::Source.eq(RECORDED).or(whole))
    }
}

/// All places of one group and day as lines of one text: user, project, usage and domain, with tabs between them, which no name
/// has. A driver takes longer to hand over a row than the database takes to read ten.
fn lines(backend: DbBackend) -> Expr {
    Expr::cust(match backend {
        DbBackend::Postgres => {
            r"string_agg(user_uuid || E'\t' || project_id || E'\t' || resource_usage || E'\t' || domain_name, E'\n')"
        }
        _ => {
            "string_agg(hex(user_uuid) || char(9) || hex(project_id) || char(9) || resource_usage || char(9) || \
             domain_name, char(10))"
        }
    })
}

/// Gives the totals to `each`, by group and then by day, until it has enough.
#[tracing::instrument(name = "db.day_totals.each", level = "debug", skip_all, err(level = "debug"))]
pub async fn each(
    db: &(impl ConnectionTrait + StreamTrait),
    wanted: &Wanted,
    mut each: impl FnMut(DayTotal) -> ControlFlow<()>,
) -> Result<()> {
    let mut days = Entity::find()
        .select_only()
        .columns([Column::GroupKey, Column::Day])
        .expr(lines(ConnectionTrait::get_database_backend(db)))
        .filter(wanted.condition(db))
        .group_by(Column::GroupKey)
        .group_by(Column::Day)
        .order_by_asc(Column::GroupKey)
        .order_by_asc(Column::Day)
        .into_tuple::<(i32, i32, String)>()
        .stream(db)
        .await?;
    let mut domains = Domains::default();
    let mut count: usize = 0;
    while let Some((group, day, lines)) = days.try_next().await? {
        for line in lines.split('\n') {
            let (place, usage) = domains.read(line)?;
            if each(DayTotal { group: GroupKey(group), day: Day(day), place, usage }).is_break() {
                return Ok(());
            }
            count += 1;
            if count.is_multiple_of(TOTALS_BETWEEN_YIELDS) {
                tokio::task::yield_now().await;
            }
        }
    }
    Ok(())
}

/// The names of domains, which a report meets very often.
#[derive(Default)]
struct Domains(HashSet<Arc<str>>);

impl Domains {
    fn read(&mut self, line: &str) -> Result<(Place, Usages)> {
        let damaged = || StoreError::Damaged(format!("the day total {line}"));
        let mut parts = line.split('\t');
        let mut next = || parts.next().ok_or_else(damaged);
        let (user, project, usage, domain) = (next()?, next()?, next()?, next()?);
        let id = |text: &str| text.parse::<Uuid>().map_err(|_| damaged());
        let domain = Arc::clone(self.0.get_or_insert_with(domain, |name| Arc::from(name)));
        Ok(((member(id(user)?, id(project)?), domain), decode::slots(usage)?))
    }
}
