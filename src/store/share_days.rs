//! The factors and ranks after the last run of each day.

use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr, OnConflict, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, FromQueryResult, IntoSimpleExpr, QueryFilter, QuerySelect,
    Statement,
};
use uuid::Uuid;

use super::day_rows::RowsByDay;
use super::entity::share_day::{ActiveModel, Column, Entity, Model};
use super::key_list::{KeyOrder, KeyPage, KeyWindow};
use super::{Result, StoreError, bulk, key_list};
use crate::domain::fairness::DaySpan;
use crate::domain::ids::{GroupKey, Member, Owner, ProjectId, UserId};
use crate::domain::tier::Tier;
use crate::domain::time::Day;

/// The share of a domain, project or user at the end of one day.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareDay {
    pub day: Day,
    pub owner: Owner,
    pub rank: u32,
    pub fair_share_factor: f64,
    pub normalized_usage: f64,
    pub effective_weight: String,
    /// The part of the whole group; 0 to 1.
    pub entitled_share: f64,
    /// The part of the parent's share; `None`: an earlier version wrote the row.
    pub entitled_share_of_parent: Option<f64>,
}

/// The key that orders the rows of a day: user, project, domain; nil or empty where the tier has none.
pub type ShareDayId = (Uuid, Uuid, String);

/// The tier of an owner, and its key in the tier.
fn place(owner: &Owner) -> (Tier, ShareDayId) {
    match owner {
        Owner::Domain(name) => (Tier::Domain, (Uuid::nil(), Uuid::nil(), name.to_string())),
        Owner::Project(id) => (Tier::Project, (Uuid::nil(), id.0, String::new())),
        Owner::User(member) => (Tier::User, (member.user.0, member.project.0, String::new())),
    }
}

fn tier_of(stored: i32) -> Result<Tier> {
    let tier = usize::try_from(stored).ok().and_then(|tier| Tier::ALL.get(tier));
    tier.copied().ok_or_else(|| StoreError::Damaged(format!("the tier {stored}")))
}

fn owner_of(tier: Tier, user: Uuid, project: Uuid, domain: String) -> Owner {
    let project = ProjectId(project);
    match tier {
        Tier::Domain => Owner::Domain(Arc::from(domain)),
        Tier::Project => Owner::Project(project),
        Tier::User => Owner::User(Member { user: UserId(user), project }),
    }
}

impl RowsByDay for ShareDay {
    type Entity = Entity;
    const TABLE: &'static str = "share_days";
    const GROUP: Column = Column::GroupKey;
    const DAY: Column = Column::Day;
}

impl ShareDay {
    pub fn id(&self) -> ShareDayId {
        place(&self.owner).1
    }
}

impl TryFrom<Model> for ShareDay {
    type Error = StoreError;
    fn try_from(row: Model) -> Result<Self> {
        let owner = owner_of(tier_of(row.tier)?, row.user_uuid, row.project_id, row.domain_name);
        Ok(Self {
            day: Day(row.day),
            owner,
            rank: row.rank.unsigned_abs(),
            fair_share_factor: row.fair_share_factor,
            normalized_usage: row.normalized_usage,
            effective_weight: row.effective_weight,
            entitled_share: row.entitled_share,
            entitled_share_of_parent: row.entitled_share_of_parent,
        })
    }
}

/// Inserts or replaces the rows of their days and owners.
#[tracing::instrument(name = "db.share_days.put", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn replace_days(db: &impl ConnectionTrait, group: GroupKey, rows: Vec<ShareDay>) -> Result<()> {
    let rows = rows.into_iter().map(|row| {
        let (tier, (user, project, domain)) = place(&row.owner);
        ActiveModel {
            group_key: Set(group.0),
            day: Set(row.day.0),
            tier: Set(tier as i32),
            user_uuid: Set(user),
            project_id: Set(project),
            domain_name: Set(domain),
            rank: Set(i32::try_from(row.rank).unwrap_or(i32::MAX)),
            fair_share_factor: Set(row.fair_share_factor),
            normalized_usage: Set(row.normalized_usage),
            effective_weight: Set(row.effective_weight),
            entitled_share: Set(row.entitled_share),
            entitled_share_of_parent: Set(row.entitled_share_of_parent),
        }
    });
    let key = [Column::GroupKey, Column::Day, Column::Tier, Column::UserUuid, Column::ProjectId, Column::DomainName];
    let mut replace = OnConflict::columns(key);
    replace.update_columns([
        Column::Rank,
        Column::FairShareFactor,
        Column::NormalizedUsage,
        Column::EffectiveWeight,
        Column::EntitledShare,
        Column::EntitledShareOfParent,
    ]);
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

/// The conditions of a list of rows.
#[derive(Clone, Debug)]
pub struct ShareFilter {
    pub tier: Tier,
    pub days: DaySpan,
    pub user: Option<UserId>,
    /// Any of these projects.
    pub projects: Option<Vec<ProjectId>>,
    pub domain: Option<String>,
    /// Any of these owners of the tier: names of domains, or ids of projects or users without hyphens.
    pub among: Option<Vec<String>>,
}

impl ShareFilter {
    /// True if only few rows of each day match, which the primary key finds.
    pub fn names_someone(&self) -> bool {
        match self.tier {
            Tier::Domain => self.domain.is_some(),
            Tier::Project => self.projects.as_ref().is_some_and(|projects| projects.len() == 1),
            Tier::User => self.user.is_some(),
        }
    }

    /// All of `among` is bound as one value, because it may exceed the limit of values in a statement.
    fn is_among(&self, of: &[String], backend: DbBackend) -> SimpleExpr {
        let (column, id) = match (self.tier, backend) {
            (Tier::Domain, _) => ("domain_name", "value"),
            (Tier::Project, DbBackend::Postgres) => ("project_id", "value::uuid"),
            (Tier::User, DbBackend::Postgres) => ("user_uuid", "value::uuid"),
            (Tier::Project, _) => ("project_id", "unhex(value)"),
            (Tier::User, _) => ("user_uuid", "unhex(value)"),
        };
        let list = match backend {
            DbBackend::Postgres => "jsonb_array_elements_text($1::text::jsonb) AS value",
            _ => "json_each(?)",
        };
        Expr::cust_with_values(format!("{column} IN (SELECT {id} FROM {list})"), [serde_json::json!(of).to_string()])
    }

    fn matching(&self, group: GroupKey, backend: DbBackend) -> Condition {
        let DaySpan { first, last } = self.days;
        let days = if self.names_someone() {
            // Each day is looked up by itself, because a day has many rows.
            Column::Day.is_in(first.0..=last.0)
        } else {
            Column::Day.between(first.0, last.0)
        };
        let user = if self.tier == Tier::User { self.user } else { Some(UserId(Uuid::nil())) };
        let projects = self.projects.as_ref().map(|projects| Column::ProjectId.is_in(projects.iter().map(|id| id.0)));
        Condition::all()
            .add(Column::GroupKey.eq(group.0))
            .add(days)
            .add(Column::Tier.eq(self.tier as i32))
            .add_option(user.map(|user| Column::UserUuid.eq(user.0)))
            .add_option(projects)
            .add_option((self.tier == Tier::Domain).then(|| Column::ProjectId.eq(Uuid::nil())))
            .add_option(self.domain.as_ref().map(|name| Column::DomainName.eq(name)))
            .add_option(self.among.as_ref().map(|of| self.is_among(of, backend)))
    }
}

/// Orders names by their bytes, as everywhere, regardless of the database's locale.
fn by_bytes(db: &impl ConnectionTrait) -> Expr {
    let column =
        if db.get_database_backend() == DbBackend::Postgres { r#"domain_name COLLATE "C""# } else { "domain_name" };
    Expr::cust(column)
}

/// The order of the rows of a day. Equal rows are ordered by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareOrder {
    #[default]
    Id,
    Rank,
}

/// The key that orders all rows: the day, the rank if it is part of the order, the id.
pub type ShareDayPosition = (Day, u32, ShareDayId);

/// One window of the rows by day, and then by rank, or by user, project and domain.
#[tracing::instrument(name = "db.share_days.page", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: GroupKey,
    filter: &ShareFilter,
    order: ShareOrder,
    window: &KeyWindow<ShareDayPosition>,
) -> Result<KeyPage<ShareDay>> {
    let by_rank = order == ShareOrder::Rank;
    let ranked = [Column::Day, Column::Rank, Column::UserUuid, Column::ProjectId];
    let columns = ranked.into_iter().filter(|column| by_rank || !matches!(column, Column::Rank));
    let columns = columns.map(IntoSimpleExpr::into_simple_expr).chain([by_bytes(db)]).collect();
    let order = KeyOrder { columns, descending: false };
    let values = |(day, rank, (user, project, domain)): &ShareDayPosition| {
        let rank = by_rank.then(|| Expr::value(i32::try_from(*rank).unwrap_or(i32::MAX)));
        let id = [Expr::value(*user), Expr::value(*project), Expr::value(domain.as_str())];
        [Expr::value(day.0)].into_iter().chain(rank).chain(id).collect()
    };
    let matching = Entity::find().filter(filter.matching(group, db.get_database_backend()));
    key_list::page(db, matching, order, window, values).await?.try_map(ShareDay::try_from)
}

/// The ranks of all tiers at the end of one day.
#[tracing::instrument(name = "db.share_days.ranks", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_ranks(db: &impl ConnectionTrait, group: GroupKey, day: Day) -> Result<Vec<(Owner, u32)>> {
    let columns = [Column::Tier, Column::UserUuid, Column::ProjectId, Column::DomainName, Column::Rank];
    let query = Entity::find().select_only().columns(columns);
    let query = query.filter(Column::GroupKey.eq(group.0)).filter(Column::Day.eq(day.0));
    let rows = query.into_tuple::<(i32, Uuid, Uuid, String, i32)>().all(db).await?;
    let rank = |(tier, user, project, domain, rank): (i32, Uuid, Uuid, String, i32)| {
        Ok((owner_of(tier_of(tier)?, user, project, domain), rank.unsigned_abs()))
    };
    rows.into_iter().map(rank).collect()
}

/// A user whose rank differs from that of the day before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankMove {
    pub member: Member,
    pub rank: u32,
    pub rank_before: u32,
}

/// The users who rose, or who fell, farthest between the end of the day before and that of `day`; equal ones by rank and
/// then by id.
#[tracing::instrument(name = "db.share_days.movers", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_movers(
    db: &impl ConnectionTrait,
    group: GroupKey,
    day: Day,
    is_up: bool,
    most: u32,
) -> Result<Vec<RankMove>> {
    #[derive(FromQueryResult)]
    struct ShareDayRow {
        user_uuid: Uuid,
        project_id: Uuid,
        rank: i32,
        rank_before: i32,
    }
    let gained = if is_up { "b.rank - a.rank" } else { "a.rank - b.rank" };
    let sql = format!(
        "SELECT a.user_uuid, a.project_id, a.rank, b.rank AS rank_before FROM share_days a \
         JOIN share_days b ON b.group_key = $1 AND b.day = $3 AND b.tier = $4 AND b.user_uuid = a.user_uuid \
         AND b.project_id = a.project_id WHERE a.group_key = $1 AND a.day = $2 AND a.tier = $4 AND {gained} > 0 \
         ORDER BY {gained} DESC, a.rank, a.user_uuid, a.project_id LIMIT {most}"
    );
    let values = [group.0.into(), day.0.into(), day.plus(-1).0.into(), (Tier::User as i32).into()];
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    let rows = ShareDayRow::find_by_statement(statement).all(db).await?;
    let row = |row: ShareDayRow| RankMove {
        member: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
        rank: row.rank.unsigned_abs(),
        rank_before: row.rank_before.unsigned_abs(),
    };
    Ok(rows.into_iter().map(row).collect())
}
