//! Fair shares of the three tiers, one row for each domain, project and user: the weight that an admin set and the
//! calculated values.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sea_orm::ActiveValue::Set;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, StreamTrait};
use uuid::Uuid;

use super::entity::{domain_fair_share, project_fair_share, user_fair_share};
use super::groups::StoredGroup;
use super::{Result, bulk, decode, run_times};
use crate::domain::hierarchy::{Hierarchy, Share};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::time::Timestamp;
use crate::domain::weight::Weight;

/// Rows of users that are decoded together, on another thread while the next ones are read.
const DECODED_TOGETHER: usize = 2_000;

/// Reads the shares of a group; `domain_of` returns a project's current domain. The returned future ends when the last rows
/// are decoded, so that the caller can read other rows of the group meanwhile. Ranks are not stored.
#[tracing::instrument(name = "db.shares.load", level = "debug", skip_all, fields(group = group.name), err(level = "debug"))]
pub async fn load(
    db: &(impl ConnectionTrait + StreamTrait),
    group: &StoredGroup,
    domain_of: impl Fn(ProjectId) -> Option<Arc<str>>,
) -> Result<BoxFuture<'static, Result<Hierarchy>>> {
    let mut hierarchy = Hierarchy::default();
    macro_rules! rows {
        ($table:ident, $($column:ident: $type:ty),+) => {
            $table::Entity::find()
                .select_only()
                .columns([
                    $table::Column::Weight,
                    $table::Column::TotalDecayedUsage,
                    $table::Column::NormalizedUsage,
                    $table::Column::FairShareFactor,
                    $($table::Column::$column,)+
                ])
                .filter($table::Column::ResourceGroup.eq(group.name.as_str()))
                .into_tuple::<(Option<i64>, String, f64, f64, $($type,)+)>()
                .stream(db)
                .await?
        };
    }
    let mut rows = rows!(domain_fair_share, DomainName: String);
    while let Some((weight, decayed, normalized, factor, name)) = rows.try_next().await? {
        hierarchy.put_domain(&Arc::from(name), decode::share(weight, &decayed, normalized, factor)?);
    }
    drop(rows);
    let mut rows = rows!(project_fair_share, ProjectId: Uuid);
    while let Some((weight, decayed, normalized, factor, id)) = rows.try_next().await? {
        let id = ProjectId(id);
        if let Some(domain) = domain_of(id) {
            hierarchy.put_project(id, &domain, decode::share(weight, &decayed, normalized, factor)?);
        }
    }
    drop(rows);
    let rows = rows!(user_fair_share, UserUuid: Uuid, ProjectId: Uuid, RunTimes: Option<String>);
    let mut parts = rows.try_chunks(DECODED_TOGETHER).map_err(|broken| broken.1);
    let mut decoding = Vec::new();
    while let Some(part) = parts.try_next().await? {
        decoding.push(tokio::spawn(async move { part.into_iter().map(user_share).collect::<Result<Vec<_>>>() }));
    }
    let whole = tokio::spawn(async move {
        let mut users = Vec::new();
        for part in decoding {
            users.extend(part.await??);
        }
        Ok(hierarchy.with_users(users))
    });
    Ok(async move { whole.await? }.boxed())
}

type UserRow = (Option<i64>, String, f64, f64, Uuid, Uuid, Option<String>);

fn user_share((weight, decayed, normalized, factor, user, project, times): UserRow) -> Result<(Member, Share)> {
    let member = Member { user: UserId(user), project: ProjectId(project) };
    let times = times.as_deref().map(run_times::decode).transpose()?.unwrap_or_default();
    Ok((member, decode::share(weight, &decayed, normalized, factor)?.with_run_times(times)))
}

/// Stores the shares of `changed` as they are in `hierarchy`.
#[tracing::instrument(name = "db.shares.save", level = "debug", skip_all, fields(group = group.name), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: &StoredGroup,
    hierarchy: &Hierarchy,
    changed: &BTreeSet<Owner>,
    now: Timestamp,
) -> Result<()> {
    macro_rules! store {
        ($table:ident, $shares:expr, [$($key:ident),+], [$($more:ident),*], |$owner:ident, $share:ident| $own:tt) => {
            let rows = $shares.map(|($owner, $share)| store!(@row $table, $share, $own));
            let key = [$table::Column::ResourceGroup, $($table::Column::$key),+];
            let columns = [
                $table::Column::Weight,
                $table::Column::TotalDecayedUsage,
                $table::Column::NormalizedUsage,
                $table::Column::FairShareFactor,
                $($table::Column::$more,)*
                $table::Column::UpdatedAt,
            ];
            bulk::replace(db, rows, &key, &columns).await?;
        };
        (@row $table:ident, $share:ident, { $($column:ident: $value:expr),+ }) => {
            $table::ActiveModel {
                resource_group: Set(group.name.clone()),
                weight: Set($share.weight.map(Weight::ten_thousandths)),
                total_decayed_usage: Set($share.history.total_decayed_usage.to_json()),
                normalized_usage: Set($share.history.normalized_usage),
                fair_share_factor: Set($share.fair_share_factor),
                created_at: Set(now.micros()),
                updated_at: Set(now.micros()),
                $($column: Set($value)),+
            }
        };
    }
    // A share is looked up for its own tier only.
    let domains = changed.iter().filter_map(|owner| match owner {
        Owner::Domain(name) => Some((name.to_string(), hierarchy.share(owner)?)),
        _ => None,
    });
    store!(domain_fair_share, domains, [DomainName], [], |name, share| { domain_name: name });
    let projects = changed.iter().filter_map(|owner| match owner {
        Owner::Project(id) => Some((id.0, hierarchy.share(owner)?)),
        _ => None,
    });
    store!(project_fair_share, projects, [ProjectId], [], |id, share| { project_id: id });
    let users = changed.iter().filter_map(|owner| match owner {
        Owner::User(member) => Some((*member, hierarchy.share(owner)?)),
        _ => None,
    });
    store!(user_fair_share, users, [UserUuid, ProjectId], [RunTimes], |member, share| {
        user_uuid: member.user.0,
        project_id: member.project.0,
        run_times: Some(share.run_times()).filter(|times| !times.is_zero()).map(|times| times.to_string())
    });
    Ok(())
}

/// Removes the share of a domain.
#[tracing::instrument(name = "db.shares.remove_domain", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn remove_domain(db: &impl ConnectionTrait, group: &str, domain: &str) -> Result<()> {
    use domain_fair_share::Column;
    let share = domain_fair_share::Entity::delete_many().filter(Column::ResourceGroup.eq(group));
    share.filter(Column::DomainName.eq(domain)).exec(db).await?;
    Ok(())
}
