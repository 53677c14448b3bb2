//! Day totals of several groups as reports read them: one by one, those of runs and those of whole histories alike.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use futures::TryStreamExt;
use hashbrown::HashSet;
use sea_orm::sea_query::{Condition, Expr, ExprTrait, Order, SelectStatement, UnionType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select, StreamTrait,
};
use uuid::Uuid;

use super::{Place, RECORDED, member};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::slots::Usages;
use crate::domain::time::Day;
use crate::store::entity::{bucket_total, day_total};
use crate::store::{Result, StoreError, bulk, decode};

/// Of so many days at once are totals read as have this many, or of one: the database holds them until it has all.
const TOTALS_AT_ONCE: usize = 100_000;
/// Totals between which other tasks of the thread get their turn.
const TOTALS_BETWEEN_YIELDS: usize = 500;

/// Which totals are wanted. Both days are included.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// By key, with how many users each has.
    pub groups: Vec<(GroupKey, usize)>,
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

/// The columns of what reports read.
struct Columns<C> {
    group: C,
    day: C,
    user: C,
    project: C,
    domain: C,
}

/// Days of one group.
struct Part {
    group: GroupKey,
    from: Day,
    to: Day,
}

macro_rules! columns {
    ($table:ident) => {
        Columns {
            group: $table::Column::GroupKey,
            day: $table::Column::Day,
            user: $table::Column::UserUuid,
            project: $table::Column::ProjectId,
            domain: $table::Column::DomainName,
        }
    };
}

impl Wanted {
    fn condition<C: ColumnTrait>(&self, db: &impl ConnectionTrait, part: &Part, columns: &Columns<C>) -> Condition {
        let Columns { group, day, user, project, domain } = columns;
        let Part { from, to, .. } = part;
        // Of one user the days are looked up one by one, instead of reading those of all users.
        let days = if self.user.is_some() { bulk::one_of(db, *day, from.0..=to.0) } else { day.between(from.0, to.0) };
        Condition::all()
            .add(group.eq(part.group.0))
            .add(days)
            .add_option(self.domain.as_deref().map(|wanted| domain.eq(wanted)))
            .add_option(self.user.map(|wanted| user.eq(wanted.0)))
            .add_option(self.project.map(|wanted| project.eq(wanted.0)))
    }

    /// What is read at once, in the order of groups and days.
    fn parts(&self) -> impl Iterator<Item = Part> {
        self.groups.iter().flat_map(move |(group, users)| {
            let users = if self.user.is_some() { 1 } else { *users };
            let days = TOTALS_AT_ONCE.checked_div(users).unwrap_or(TOTALS_AT_ONCE).clamp(1, TOTALS_AT_ONCE);
            (self.from.0..=self.to.0).step_by(days).map(move |from| {
                let to = Day(from).plus(i32::try_from(days - 1).unwrap_or(i32::MAX)).min(self.to);
                Part { group: *group, from: Day(from), to }
            })
        })
    }

    /// The lines of each day of a part: of rows, and then of totals that buckets tell.
    fn lines(&self, db: &impl ConnectionTrait, part: &Part) -> SelectStatement {
        let whole = Expr::cust(
            "source IN (SELECT h.source FROM usage_histories h WHERE h.group_key = day_totals.group_key AND h.complete)",
        );
        let counts = day_total::Column::Source.eq(RECORDED).or(whole);
        let columns = columns!(day_total);
        let rows = day_total::Entity::find().filter(self.condition(db, part, &columns).add(counts));
        let mut all = lines(db, rows, &columns);
        let columns = columns!(bucket_total);
        let by_buckets = bucket_total::Entity::find().filter(self.condition(db, part, &columns));
        let by_buckets = lines(db, by_buckets, &columns);
        all.union(UnionType::All, by_buckets).order_by("day", Order::Asc).to_owned()
    }
}

/// All places of each day as lines of one text: user, project, usage and domain, with tabs between them, which no name
/// has. A driver takes longer to hand over a row than the database takes to read ten.
fn lines<E: EntityTrait>(db: &impl ConnectionTrait, which: Select<E>, columns: &Columns<E::Column>) -> SelectStatement {
    let lines = Expr::cust(match db.get_database_backend() {
        DbBackend::Postgres => {
            r"string_agg(user_uuid || E'\t' || project_id || E'\t' || resource_usage || E'\t' || domain_name, E'\n')"
        }
        _ => {
            "string_agg(hex(user_uuid) || char(9) || hex(project_id) || char(9) || resource_usage || char(9) || \
             domain_name, char(10))"
        }
    });
    which.select_only().column(columns.day).expr(lines).group_by(columns.day).into_query()
}

/// Gives the totals to `each`, by group and then by day, until it has enough.
#[tracing::instrument(name = "db.day_totals.each", level = "debug", skip_all, err(level = "debug"))]
pub async fn each(
    db: &(impl ConnectionTrait + StreamTrait),
    wanted: &Wanted,
    mut each: impl FnMut(DayTotal) -> ControlFlow<()>,
) -> Result<()> {
    let mut domains = Domains::default();
    let mut count: usize = 0;
    for part in wanted.parts() {
        let mut days = pin!(db.stream(&wanted.lines(db, &part)).await?);
        while let Some(row) = days.try_next().await? {
            let (day, lines): (i32, String) = (row.try_get_by_index(0)?, row.try_get_by_index(1)?);
            for line in lines.split('\n') {
                let (place, usage) = domains.read(line)?;
                if each(DayTotal { group: part.group, day: Day(day), place, usage }).is_break() {
                    return Ok(());
                }
                count += 1;
                if count.is_multiple_of(TOTALS_BETWEEN_YIELDS) {
                    tokio::task::yield_now().await;
                }
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
