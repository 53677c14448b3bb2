//! Filtered, ordered, paged lists of usage buckets, the same for the three tiers.

use sea_orm::sea_query::{
    Alias, Condition, Expr, ExprTrait, IntoColumnRef, JoinType, Order, Query, SelectStatement, SimpleExpr,
};
use sea_orm::{ConnectionTrait, DbBackend, QueryResult};
use uuid::Uuid;

use super::{Result, StoreError, decode};
use crate::domain::filter::{CompareOperator, DayMatch, Filter, TextMatch, UuidIn};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};

fn table(tier: Tier) -> &'static str {
    match tier {
        Tier::Domain => "domain_usage_buckets",
        Tier::Project => "project_usage_buckets",
        Tier::User => "user_usage_buckets",
    }
}

/// The columns that, with the start, identify a bucket of a group.
fn keys(tier: Tier) -> &'static [&'static str] {
    match tier {
        Tier::Domain => &["domain_name"],
        Tier::Project => &["project_id"],
        Tier::User => &["user_uuid", "project_id"],
    }
}

/// One condition on a bucket.
#[derive(Clone, Debug)]
pub enum BucketCondition {
    Domain(TextMatch),
    Project(UuidIn),
    User(UuidIn),
    PeriodStart(DayMatch),
    PeriodEnd(DayMatch),
}

/// The field that orders a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketField {
    PeriodStart,
    PeriodEnd,
    CreatedAt,
    UpdatedAt,
}

impl BucketField {
    fn column(self) -> &'static str {
        match self {
            Self::PeriodStart => "period_start",
            Self::PeriodEnd => "period_end",
            Self::CreatedAt => "created_at",
            Self::UpdatedAt => "updated_at",
        }
    }
}

/// The position of a bucket in a list: the value of the ordering field, then the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketPosition {
    pub value: i64,
    pub period_start: i32,
    pub domain_name: Option<String>,
    pub user: Option<Uuid>,
    pub project: Option<Uuid>,
}

/// One bucket of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketRow {
    /// Absent in the tiers above users.
    pub user: Option<UserId>,
    /// Absent in the domain tier.
    pub project: Option<ProjectId>,
    /// The domain of the bucket, or the domain that its project is in now.
    pub domain_name: String,
    pub period_start: Day,
    pub period_end: Day,
    pub decay_unit_days: u32,
    /// Slot-seconds.
    pub resource_usage: SlotUsages,
    pub capacity_snapshot: SlotAmounts,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl BucketRow {
    pub fn member(&self) -> Option<Member> {
        Some(Member { user: self.user?, project: self.project? })
    }

    /// The position of the row in a list ordered by `field`.
    pub fn place(&self, tier: Tier, field: BucketField) -> BucketPosition {
        let value = match field {
            BucketField::PeriodStart => i64::from(self.period_start.0),
            BucketField::PeriodEnd => i64::from(self.period_end.0),
            BucketField::CreatedAt => self.created_at.micros(),
            BucketField::UpdatedAt => self.updated_at.micros(),
        };
        BucketPosition {
            value,
            period_start: self.period_start.0,
            domain_name: (tier == Tier::Domain).then(|| self.domain_name.clone()),
            user: self.user.map(|u| u.0),
            project: self.project.map(|p| p.0),
        }
    }
}

/// The conditions, the order and the window of a list.
#[derive(Clone, Debug)]
pub struct BucketQuery {
    pub tier: Tier,
    pub group: String,
    pub filter: Filter<BucketCondition>,
    pub field: BucketField,
    pub descending: bool,
    /// Reads from the other end; the rows are returned in list order all the same.
    pub from_end: bool,
    pub after: Option<BucketPosition>,
    pub before: Option<BucketPosition>,
    pub offset: u64,
    /// The most rows of a page. One more is read to find out whether more follow.
    pub limit: u64,
}

/// The rows, true if more rows follow on the side that was cut, and the number of all matching rows.
pub struct BucketPage {
    pub rows: Vec<BucketRow>,
    pub cut: bool,
    pub total: u64,
}

/// Lists buckets with two statements. `domains` has the names of all domains.
#[tracing::instrument(name = "db.bucket_list.list", level = "debug", skip_all, err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait, query: &BucketQuery, domains: &[String]) -> Result<BucketPage> {
    let matching = matching_rows(query, domains, db.get_database_backend());
    let mut count = Query::select();
    count.from_as(table(query.tier), "b");
    if names_domain(&query.filter) {
        join_projects(&mut count, query.tier);
    }
    count.expr_as(Expr::cust("COUNT(*)"), "total").cond_where(matching.clone());
    let total: i64 = match db.query_one(&count).await? {
        Some(row) => row.try_get("", "total")?,
        None => 0,
    };
    // The page is cut before its projects are joined. Otherwise PostgreSQL may read the buckets of every project first.
    let mut select = Query::select();
    select.from_as(table(query.tier), "b").cond_where(matching);
    if names_domain(&query.filter) {
        join_projects(&mut select, query.tier);
    }
    for column in columns(query.tier) {
        select.column(("b", column));
    }
    in_order(&mut select, query);
    if let Some(place) = &query.after {
        select.and_where(rows_beyond(query, place, !query.descending));
    }
    if let Some(place) = &query.before {
        select.and_where(rows_beyond(query, place, query.descending));
    }
    select.offset(query.offset).limit(query.limit + 1);
    let mut page = Query::select();
    for column in columns(query.tier) {
        page.column(("b", column));
    }
    page.from_subquery(select, "b");
    join_projects(&mut page, query.tier);
    if query.tier != Tier::Domain {
        page.column(("p", "domain_name"));
    }
    in_order(&mut page, query);
    let found = db.query_all(&page).await?;
    let mut rows = found.iter().map(|row| decode_row(query.tier, row)).collect::<Result<Vec<_>>>()?;
    let wanted = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let cut = rows.len() > wanted;
    rows.truncate(wanted);
    if query.from_end {
        rows.reverse();
    }
    Ok(BucketPage { rows, cut, total: u64::try_from(total).unwrap_or(0) })
}

/// The columns that are read of a bucket.
fn columns(tier: Tier) -> impl Iterator<Item = &'static str> {
    let own = [
        "period_start",
        "period_end",
        "decay_unit_days",
        "resource_usage",
        "capacity_snapshot",
        "created_at",
        "updated_at",
    ];
    own.into_iter().chain(keys(tier).iter().copied())
}

/// Orders buckets for reading.
fn in_order(select: &mut SelectStatement, query: &BucketQuery) {
    let reversed = query.descending != query.from_end;
    let order = if reversed { Order::Desc } else { Order::Asc };
    for column in order_columns(query) {
        select.order_by(("b", column), order.clone());
    }
}

fn join_projects(select: &mut SelectStatement, tier: Tier) {
    if tier != Tier::Domain {
        let same_project = column("p", "id").equals((Alias::new("b"), Alias::new("project_id")));
        select.join_as(JoinType::InnerJoin, "projects", "p", same_project);
    }
}

/// True if a filter needs the domain of a project.
fn names_domain(filter: &Filter<BucketCondition>) -> bool {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().any(names_domain),
        Filter::Not(part) => names_domain(part),
        Filter::Is(one) => matches!(one, BucketCondition::Domain(_)),
    }
}

fn column(table: &'static str, name: &'static str) -> SimpleExpr {
    Expr::col((Alias::new(table), Alias::new(name)).into_column_ref())
}

fn order_columns(query: &BucketQuery) -> Vec<&'static str> {
    let mut columns = vec![query.field.column()];
    if query.field != BucketField::PeriodStart {
        columns.push("period_start");
    }
    columns.extend(keys(query.tier));
    columns
}

fn place_value(place: &BucketPosition, column: &str, first: bool) -> SimpleExpr {
    match column {
        _ if first => place.value.into(),
        "period_start" => place.period_start.into(),
        "domain_name" => place.domain_name.clone().unwrap_or_default().into(),
        "user_uuid" => place.user.unwrap_or_default().into(),
        _ => place.project.unwrap_or_default().into(),
    }
}

/// Rows whose sort key is above (or below) a position. The keys are compared as one tuple, so that an index finds the
/// position.
fn rows_beyond(query: &BucketQuery, place: &BucketPosition, above: bool) -> SimpleExpr {
    let columns = order_columns(query);
    let key = Expr::tuple(columns.iter().map(|name| column("b", name)));
    let values = columns.iter().enumerate().map(|(at, name)| place_value(place, name, at == 0));
    let place = Expr::tuple(values);
    if above { key.gt(place) } else { key.lt(place) }
}

fn matching_rows(query: &BucketQuery, domains: &[String], backend: DbBackend) -> Condition {
    let matcher = FilterSql { tier: query.tier, domains, backend };
    Condition::all().add(column("b", "resource_group").eq(query.group.as_str())).add(matcher.condition(&query.filter))
}

/// Turns filters into SQL.
struct FilterSql<'a> {
    tier: Tier,
    domains: &'a [String],
    backend: DbBackend,
}

impl FilterSql<'_> {
    fn condition(&self, filter: &Filter<BucketCondition>) -> Condition {
        match filter {
            Filter::All(parts) => {
                parts.iter().fold(Condition::all().add(Expr::cust("1 = 1")), |all, p| all.add(self.condition(p)))
            }
            Filter::Any(parts) => {
                parts.iter().fold(Condition::any().add(Expr::cust("1 = 0")), |any, p| any.add(self.condition(p)))
            }
            Filter::Not(part) => self.condition(part).not(),
            Filter::Is(one) => Condition::all().add(self.is(one)),
        }
    }

    fn is(&self, one: &BucketCondition) -> SimpleExpr {
        match one {
            BucketCondition::Domain(text) => self.in_domain(text),
            BucketCondition::Project(ids) => column("b", "project_id").is_in(ids.iter().copied()),
            BucketCondition::User(ids) => column("b", "user_uuid").is_in(ids.iter().copied()),
            BucketCondition::PeriodStart(day) => compare(column("b", "period_start"), *day),
            BucketCondition::PeriodEnd(day) => compare(column("b", "period_end"), *day),
        }
    }

    /// Texts are matched here and not in SQL, because the two databases differ in case and wildcards. All names are bound as
    /// one value, because a filter over many domains would exceed the limit of values in a statement.
    fn in_domain(&self, text: &TextMatch) -> SimpleExpr {
        let names: Vec<&String> = self.domains.iter().filter(|d| text.holds(d)).collect();
        let table = if self.tier == Tier::Domain { "b" } else { "p" };
        let listed = match self.backend {
            DbBackend::Postgres => "SELECT jsonb_array_elements_text($1::text::jsonb)",
            _ => "SELECT value FROM json_each(?)",
        };
        let sql = format!("{table}.domain_name IN ({listed})");
        Expr::cust_with_values(sql, [serde_json::json!(names).to_string()])
    }
}

fn compare(own: SimpleExpr, day: DayMatch) -> SimpleExpr {
    let value = day.day.0;
    match day.compare {
        CompareOperator::Equal => own.eq(value),
        CompareOperator::Less => own.lt(value),
        CompareOperator::LessOrEqual => own.lte(value),
        CompareOperator::Greater => own.gt(value),
        CompareOperator::GreaterOrEqual => own.gte(value),
    }
}

fn decode_row(tier: Tier, row: &QueryResult) -> Result<BucketRow> {
    let text = |name: &str| -> Result<String> { Ok(row.try_get("", name)?) };
    let time = |name: &str| -> Result<Timestamp> { Ok(Timestamp::from_micros(row.try_get("", name)?)) };
    let day = |name: &str| -> Result<Day> { Ok(Day(row.try_get("", name)?)) };
    let id = |name: &str| -> Result<Uuid> { Ok(row.try_get("", name)?) };
    let unit: i32 = row.try_get("", "decay_unit_days")?;
    Ok(BucketRow {
        user: if tier == Tier::User { Some(UserId(id("user_uuid")?)) } else { None },
        project: if tier == Tier::Domain { None } else { Some(ProjectId(id("project_id")?)) },
        domain_name: text("domain_name")?,
        period_start: day("period_start")?,
        period_end: day("period_end")?,
        decay_unit_days: u32::try_from(unit).map_err(|_| StoreError::Damaged(format!("decay_unit_days {unit}")))?,
        resource_usage: decode::slots(&text("resource_usage")?)?,
        capacity_snapshot: decode::slots(&text("capacity_snapshot")?)?,
        created_at: time("created_at")?,
        updated_at: time("updated_at")?,
    })
}
