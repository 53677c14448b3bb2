//! Fair shares of the three tiers: the weight an admin set and what was calculated.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use futures::future::try_join_all;
use sea_orm::ActiveValue::Set;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, StreamTrait};
use uuid::Uuid;

use super::entity::{domain_fair_share, project_fair_share, user_fair_share};
use super::{Result, bulk, decode, run_times};
use crate::domain::factor::History;
use crate::domain::hierarchy::{Hierarchy, Share};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::run_times::RunTimes;
use crate::domain::time::Timestamp;
use crate::domain::weight::Weight;

const ROWS_TOGETHER: usize = 1_000;

/// Loads the group's hierarchy; `domain_of` tells a project's current domain. Ranks are not stored.
#[tracing::instrument(name = "db.shares.load", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn load(
    db: &(impl ConnectionTrait + StreamTrait),
    group: &str,
    domain_of: impl Fn(ProjectId) -> Option<Arc<str>>,
) -> Result<Hierarchy> {
    let mut hierarchy = Hierarchy::default();
    // Rows are read by place and without what is the same in all: there are as many as members.
    macro_rules! rows {
        ($table:ident, $($column:ident: $type:ty),+) => {
            $table::Entity::find()
                .select_only()
                .columns([
                    $($table::Column::$column,)+
                    $table::Column::Weight,
                    $table::Column::TotalDecayedUsage,
                    $table::Column::NormalizedUsage,
                    $table::Column::FairShareFactor,
                ])
                .filter($table::Column::ResourceGroup.eq(group))
                .into_tuple::<($($type,)+ Option<i64>, String, f64, f64)>()
                .stream(db)
                .await?
        };
    }
    let mut rows = rows!(domain_fair_share, DomainName: String);
    while let Some((name, weight, decayed, normalized, factor)) = rows.try_next().await? {
        hierarchy.put_domain(&Arc::from(name), share(weight, &decayed, normalized, factor)?);
    }
    drop(rows);
    let mut rows = rows!(project_fair_share, ProjectId: Uuid);
    while let Some((id, weight, decayed, normalized, factor)) = rows.try_next().await? {
        let id = ProjectId(id);
        if let Some(domain) = domain_of(id) {
            hierarchy.put_project(id, &domain, share(weight, &decayed, normalized, factor)?);
        }
    }
    drop(rows);
    let rows = rows!(user_fair_share, UserUuid: Uuid, ProjectId: Uuid, RunTimes: Option<String>);
    // Rows are understood on another thread while the next are read.
    let mut parts = rows.try_chunks(ROWS_TOGETHER).map_err(|broken| broken.1);
    let mut users = Vec::new();
    while let Some(part) = parts.try_next().await? {
        let shares = async { part.into_iter().map(user_share).collect::<Result<Vec<_>>>() };
        users.push(tokio::spawn(shares));
    }
    let users = try_join_all(users).await.map_err(|e| DbErr::Custom(e.to_string()))?;
    let users: Vec<Vec<(Member, Share)>> = users.into_iter().collect::<Result<_>>()?;
    Ok(hierarchy.with_users(users.into_iter().flatten()))
}

type UserRow = (Uuid, Uuid, Option<String>, Option<i64>, String, f64, f64);

fn user_share(row: UserRow) -> Result<(Member, Share)> {
    let (user, project, times, weight, decayed, normalized, factor) = row;
    let member = Member { user: UserId(user), project: ProjectId(project) };
    let times = times.as_deref().map(run_times::decode).transpose()?.unwrap_or_default();
    Ok((member, share(weight, &decayed, normalized, factor)?.with_run_times(times)))
}

fn share(weight: Option<i64>, decayed: &str, normalized_usage: f64, factor: f64) -> Result<Share> {
    let history = History { normalized_usage, total_decayed_usage: decode::slots(decayed)?, ..History::default() };
    Ok(Share::new(weight.and_then(Weight::from_ten_thousandths), history).with_factor(factor))
}

/// How long kernels ran, if any has ended.
fn stored(times: RunTimes) -> Option<String> {
    (!times.is_zero()).then(|| times.to_string())
}

/// Shares that have to be stored.
#[derive(Debug, Default)]
pub struct Changed {
    /// With all that is calculated of them.
    pub whole: BTreeSet<Owner>,
    /// Of which no more than the weight or the factor is another. One that has no row yet has no usage either.
    pub weighed: BTreeSet<Owner>,
}

impl Changed {
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.weighed.is_empty()
    }
}

/// What is stored of a share.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Whole,
    /// Its weight and its factor: the row keeps the rest.
    Weighed,
}

/// Stores shares as they are in `hierarchy`.
#[tracing::instrument(name = "db.shares.save", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: &str,
    hierarchy: &Hierarchy,
    changed: &Changed,
    now: Timestamp,
) -> Result<()> {
    let shares = |owner| Some((owner, hierarchy.share(owner)?));
    let whole = || changed.whole.iter().filter_map(shares);
    put(db, group, whole, Extent::Whole, now).await?;
    let weighed = || changed.weighed.difference(&changed.whole).filter_map(shares);
    put(db, group, weighed, Extent::Weighed, now).await
}

async fn put<'a, I: Iterator<Item = (&'a Owner, &'a Share)> + Send>(
    db: &impl ConnectionTrait,
    group: &str,
    shares: impl Fn() -> I,
    extent: Extent,
    now: Timestamp,
) -> Result<()> {
    let is_whole = extent == Extent::Whole;
    let nothing = History::default();
    let history = |share: &'a Share| if is_whole { &share.history } else { &nothing };
    macro_rules! row {
        ($table:ident, $share:expr, $($column:ident: $value:expr),+) => {
            $table::ActiveModel {
                resource_group: Set(group.to_owned()),
                $($column: Set($value),)+
                weight: Set($share.weight.map(Weight::ten_thousandths)),
                total_decayed_usage: Set(history($share).total_decayed_usage.to_json()),
                normalized_usage: Set(history($share).normalized_usage),
                fair_share_factor: Set($share.fair_share_factor),
                created_at: Set(now.micros()),
                updated_at: Set(now.micros()),
            }
        };
    }
    macro_rules! store {
        ($table:ident, $rows:ident, $($key:ident),+; $($more:ident)?) => {
            let mut columns = vec![$table::Column::Weight, $table::Column::FairShareFactor, $table::Column::UpdatedAt];
            if is_whole {
                $(columns.push($table::Column::$more);)?
                columns.extend([$table::Column::TotalDecayedUsage, $table::Column::NormalizedUsage]);
            }
            let key = [$table::Column::ResourceGroup, $($table::Column::$key),+];
            bulk::replace(db, $rows, &key, &columns).await?;
        };
    }
    let domains = shares().filter_map(|(owner, share)| match owner {
        Owner::Domain(name) => Some(row!(domain_fair_share, share, domain_name: name.to_string())),
        _ => None,
    });
    let projects = shares().filter_map(|(owner, share)| match owner {
        Owner::Project(id) => Some(row!(project_fair_share, share, project_id: id.0)),
        _ => None,
    });
    let users = shares().filter_map(|(owner, share)| match owner {
        Owner::User(m) => {
            let times = stored(share.run_times()).filter(|_| is_whole);
            Some(row!(user_fair_share, share, user_uuid: m.user.0, project_id: m.project.0, run_times: times))
        }
        _ => None,
    });
    store!(domain_fair_share, domains, DomainName;);
    store!(project_fair_share, projects, ProjectId;);
    store!(user_fair_share, users, UserUuid, ProjectId; RunTimes);
    Ok(())
}
