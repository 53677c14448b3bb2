//! Day totals of several groups for reports: read one by one, those of runs and those of complete histories alike.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures::future::join;
use hashbrown::HashSet;
use sea_orm::sea_query::{Condition, Expr, ExprTrait, SelectStatement, UnionType};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select};
use uuid::Uuid;

use super::{Place, RECORDED, member};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::maps::FastMap;
use crate::domain::slots::Usages;
use crate::domain::time::Day;
use crate::store::entity::{bucket_domain, day_total, resource_group, user_usage_bucket};
use crate::store::{Result, StoreError, bulk, decode};

/// Totals that are read at once: as many days as are likely to have this many totals, and one day at least. They are in
/// memory while the next ones are read.
const TOTALS_AT_ONCE: usize = 20_000;
/// The most parts in which the days of one group are read, for any number of users and days.
const MAX_PARTS: i32 = 100;
/// The longest range, in days, that is read as it is. Of a longer one, the days before the first total are cut off first.
const SHORT_RANGE_DAYS: i32 = 400;
/// Totals between which the task yields.
const TOTALS_BETWEEN_YIELDS: usize = 500;

/// The conditions of the totals. Both days are included.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The groups by key, each with its number of users.
    pub groups: Vec<(GroupKey, usize)>,
    pub from: Day,
    pub to: Day,
    /// The domain that the usage counted for.
    pub domain: Option<Arc<str>>,
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
}

/// The usage of one place on one day.
pub struct DayTotal {
    pub group: GroupKey,
    pub day: Day,
    pub place: Place,
    pub usage: Usages,
}

/// Days of one group.
struct Part {
    group: GroupKey,
    from: Day,
    to: Day,
}

/// The data of a day from which its totals follow, as lines of text.
#[derive(Default)]
struct ReportRows {
    /// Totals that have rows: user, project, usage and domain.
    rows: String,
    /// Projects whose totals follow from buckets: project and domain.
    domains: String,
    /// Buckets of that day alone: user, project and usage.
    buckets: String,
}

type Days = BTreeMap<Day, ReportRows>;

/// The source of a line in [`ReportRows`].
const ROWS: i32 = 0;
const DOMAINS: i32 = 1;
const BUCKETS: i32 = 2;

impl Wanted {
    /// The same conditions, without the days before the first total of all groups.
    async fn without_empty_days(&self, db: &impl ConnectionTrait) -> Result<Self> {
        if self.to.days_since(self.from) < SHORT_RANGE_DAYS {
            return Ok(self.clone());
        }
        let first_of =
            |table: &str| format!("(SELECT MIN(t.day) FROM {table} t WHERE t.group_key = resource_groups.group_key)");
        let firsts = resource_group::Entity::find()
            .select_only()
            .expr(Expr::cust(first_of("day_totals")))
            .expr(Expr::cust(first_of("bucket_domains")))
            .filter(resource_group::Column::GroupKey.is_in(self.groups.iter().map(|(group, _)| group.0)));
        let firsts: Vec<(Option<i32>, Option<i32>)> = firsts.into_tuple().all(db).await?;
        let first = firsts.into_iter().flat_map(|(rows, buckets)| [rows, buckets]).flatten().min();
        // Without any totals, reading one day is enough.
        let from = first.map_or(self.to, Day).clamp(self.from, self.to);
        Ok(Self { from, ..self.clone() })
    }

    /// The parts that are read at once, in the order of groups and days.
    fn parts(&self) -> impl Iterator<Item = Part> {
        self.groups.iter().flat_map(move |(group, users)| {
            let users = if self.user.is_some() { 1 } else { *users };
            let days = TOTALS_AT_ONCE.checked_div(users).unwrap_or(TOTALS_AT_ONCE).clamp(1, TOTALS_AT_ONCE);
            let span = self.to.days_since(self.from) / MAX_PARTS + 1;
            let days = days.max(usize::try_from(span).unwrap_or(usize::MAX));
            (self.from.0..=self.to.0).step_by(days).map(move |from| {
                let to = Day(from).plus(i32::try_from(days - 1).unwrap_or(i32::MAX)).min(self.to);
                Part { group: *group, from: Day(from), to }
            })
        })
    }

    /// The condition on the days of a part. For a single user the days are looked up one by one, which avoids reading those
    /// of all users.
    fn days<C: ColumnTrait>(&self, db: &impl ConnectionTrait, part: &Part, day: C) -> Expr {
        let Part { from, to, .. } = part;
        if self.user.is_some() { bulk::one_of(db, day, from.0..=to.0) } else { day.between(from.0, to.0) }
    }

    fn rows(&self, db: &impl ConnectionTrait, part: &Part) -> SelectStatement {
        use day_total::{Column, Entity};
        let whole = Expr::cust(
            "source IN (SELECT h.source FROM usage_histories h WHERE h.group_key = day_totals.group_key AND h.complete)",
        );
        let which = Condition::all()
            .add(Column::GroupKey.eq(part.group.0))
            .add(self.days(db, part, Column::Day))
            .add_option(self.domain.as_deref().map(|wanted| Column::DomainName.eq(wanted)))
            .add_option(self.user.map(|wanted| Column::UserUuid.eq(wanted.0)))
            .add_option(self.project.map(|wanted| Column::ProjectId.eq(wanted.0)))
            .add(Column::Source.eq(RECORDED).or(whole));
        let told = [Id("user_uuid"), Id("project_id"), Text("resource_usage"), Text("domain_name")];
        lines(db, Entity::find().filter(which), ROWS, Column::Day, &told)
    }

    fn domains(&self, db: &impl ConnectionTrait, part: &Part) -> SelectStatement {
        use bucket_domain::{Column, Entity};
        let which = Condition::all()
            .add(Column::GroupKey.eq(part.group.0))
            .add(Column::Day.between(part.from.0, part.to.0))
            .add_option(self.domain.as_deref().map(|wanted| Column::DomainName.eq(wanted)))
            .add_option(self.project.map(|wanted| Column::ProjectId.eq(wanted.0)));
        lines(db, Entity::find().filter(which), DOMAINS, Column::Day, &[Id("project_id"), Text("domain_name")])
    }

    fn buckets(&self, db: &impl ConnectionTrait, part: &Part) -> SelectStatement {
        use user_usage_bucket::{Column, Entity};
        let name = resource_group::Entity::find().select_only().column(resource_group::Column::Name);
        let name = name.filter(resource_group::Column::GroupKey.eq(part.group.0)).into_query();
        let of_domain = |wanted: &str| {
            let (bucket, domain) =
                (|column| Expr::col((Entity, column)), |column| Expr::col((bucket_domain::Entity, column)));
            let projects = bucket_domain::Entity::find()
                .select_only()
                .expr(Expr::val(1))
                .filter(bucket_domain::Column::GroupKey.eq(part.group.0))
                .filter(bucket_domain::Column::DomainName.eq(wanted))
                .filter(domain(bucket_domain::Column::Day).eq(bucket(Column::PeriodStart)))
                .filter(domain(bucket_domain::Column::ProjectId).eq(bucket(Column::ProjectId)));
            Expr::exists(projects.into_query())
        };
        let which = Condition::all()
            .add(Column::ResourceGroup.into_expr().eq(Expr::SubQuery(None, Box::new(name.into()))))
            .add(self.days(db, part, Column::PeriodStart))
            .add(Column::DecayUnitDays.eq(1))
            .add_option(self.domain.as_deref().map(of_domain))
            .add_option(self.user.map(|wanted| Column::UserUuid.eq(wanted.0)))
            .add_option(self.project.map(|wanted| Column::ProjectId.eq(wanted.0)));
        let told = [Id("user_uuid"), Id("project_id"), Text("resource_usage")];
        lines(db, Entity::find().filter(which), BUCKETS, Column::PeriodStart, &told)
    }

    /// Reads the days of a part with one statement, because a run may turn totals from buckets into rows, or the reverse,
    /// between two statements.
    async fn read(&self, db: &impl ConnectionTrait, part: Option<Part>) -> Result<Option<(GroupKey, Days)>> {
        let Some(part) = part else { return Ok(None) };
        let mut all = self.rows(db, &part);
        all.union(UnionType::All, self.domains(db, &part)).union(UnionType::All, self.buckets(db, &part));
        let mut days = Days::new();
        for row in db.query_all(&all).await? {
            let lines = days.entry(Day(row.try_get_by_index(0)?)).or_default();
            let told = match row.try_get_by_index::<i32>(1)? {
                ROWS => &mut lines.rows,
                DOMAINS => &mut lines.domains,
                _ => &mut lines.buckets,
            };
            *told = row.try_get_by_index(2)?;
        }
        Ok(Some((part.group, days)))
    }
}

/// A column of a line.
enum Cell {
    Id(&'static str),
    Text(&'static str),
}
use Cell::{Id, Text};

/// All rows of each day as lines of one text. Columns are separated by tabs, which no name contains. A driver takes longer
/// to pass on one row than the database takes to read ten.
fn lines<E: EntityTrait>(
    db: &impl ConnectionTrait,
    which: Select<E>,
    source: i32,
    day: E::Column,
    columns: &[Cell],
) -> SelectStatement {
    let is_postgres = db.get_database_backend() == DbBackend::Postgres;
    let texts = columns.iter().map(|column| match column {
        Id(name) if !is_postgres => format!("hex({name})"),
        Id(name) | Text(name) => (*name).to_owned(),
    });
    let (tab, end) = if is_postgres { (r" || E'\t' || ", r"E'\n'") } else { (" || char(9) || ", "char(10)") };
    let line = texts.collect::<Vec<_>>().join(tab);
    let lines = Expr::cust(format!("string_agg({line}, {end})"));
    let which = which.select_only().column(day).expr(Expr::cust(source.to_string())).expr(lines);
    which.group_by(day).into_query()
}

/// Passes the totals to `each`, by group and then by day, until it returns `Break`.
#[tracing::instrument(name = "db.day_totals.each", level = "debug", skip_all, err(level = "debug"))]
pub async fn each(
    db: &impl ConnectionTrait,
    wanted: &Wanted,
    each: impl FnMut(DayTotal) -> ControlFlow<()>,
) -> Result<()> {
    let mut reader = Reader { domains: Domains::default(), count: 0, each };
    let wanted = &wanted.without_empty_days(db).await?;
    let mut parts = wanted.parts();
    let mut next = wanted.read(db, parts.next()).await?;
    while let Some((group, days)) = next {
        // The database reads the next days while these are parsed.
        let (following, enough) = join(wanted.read(db, parts.next()), reader.days(group, &days)).await;
        if enough?.is_break() {
            break;
        }
        next = following?;
    }
    Ok(())
}

/// Parses lines and passes totals on.
struct Reader<F> {
    domains: Domains,
    count: usize,
    each: F,
}

impl<F: FnMut(DayTotal) -> ControlFlow<()>> Reader<F> {
    async fn days(&mut self, group: GroupKey, days: &Days) -> Result<ControlFlow<()>> {
        for (day, ReportRows { rows, domains, buckets }) in days {
            for line in rows.lines() {
                let [user, project, usage, domain] = columns(line)?;
                let place = (member(id(user, line)?, id(project, line)?), self.domains.named(domain));
                if self.give(DayTotal { group, day: *day, place, usage: decode::slots(usage)? }).await.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let mut told: FastMap<Uuid, Arc<str>> = FastMap::default();
            for line in domains.lines() {
                let [project, domain] = columns(line)?;
                told.insert(id(project, line)?, self.domains.named(domain));
            }
            for line in buckets.lines() {
                let [user, project, usage] = columns(line)?;
                let project = id(project, line)?;
                // The totals of other projects have rows.
                let Some(domain) = told.get(&project) else { continue };
                let place = (member(id(user, line)?, project), Arc::clone(domain));
                if self.give(DayTotal { group, day: *day, place, usage: decode::slots(usage)? }).await.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn give(&mut self, total: DayTotal) -> ControlFlow<()> {
        self.count += 1;
        if self.count.is_multiple_of(TOTALS_BETWEEN_YIELDS) {
            tokio::task::yield_now().await;
        }
        (self.each)(total)
    }
}

fn columns<const N: usize>(line: &str) -> Result<[&str; N]> {
    let mut parts = line.split('\t');
    let columns = std::array::from_fn(|_| parts.next().unwrap_or_default());
    if columns.iter().any(|column| column.is_empty()) { Err(damaged(line)) } else { Ok(columns) }
}

fn id(text: &str, line: &str) -> Result<Uuid> {
    text.parse().map_err(|_| damaged(line))
}

fn damaged(line: &str) -> StoreError {
    StoreError::Damaged(format!("the day total {line}"))
}

/// The names of domains, each stored once, because a report contains them very often.
#[derive(Default)]
struct Domains(HashSet<Arc<str>>);

impl Domains {
    fn named(&mut self, domain: &str) -> Arc<str> {
        Arc::clone(self.0.get_or_insert_with(domain, |name| Arc::from(name)))
    }
}
