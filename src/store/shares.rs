//! Fair shares of the three tiers: the weight an admin set and what was calculated.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sea_orm::ActiveValue::Set;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, StreamTrait};
use uuid::Uuid;

use super::bulk::Spread;
use super::entity::{domain_fair_share, project_fair_share};
use super::groups::Group;
use super::share_pages::{self, StoredShares};
use super::{Result, bulk, decode};
use crate::domain::hierarchy::{Hierarchy, Share};
use crate::domain::ids::{Member, Owner, ProjectId};
use crate::domain::time::Timestamp;
use crate::domain::weight::Weight;

/// Reads the shares of a group; `domain_of` tells a project's current domain. What it returns waits until they are understood,
/// which goes on while other rows are read, and has the group's hierarchy and how much is stored of users. Ranks are not stored.
#[tracing::instrument(name = "db.shares.load", level = "debug", skip_all, fields(group = group.name), err(level = "debug"))]
pub async fn load(
    db: &(impl ConnectionTrait + StreamTrait),
    group: &Group,
    domain_of: impl Fn(ProjectId) -> Option<Arc<str>>,
) -> Result<BoxFuture<'static, Result<(Hierarchy, StoredShares)>>> {
    let mut hierarchy = Hierarchy::default();
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
                .filter($table::Column::ResourceGroup.eq(group.name.as_str()))
                .into_tuple::<($($type,)+ Option<i64>, String, f64, f64)>()
                .stream(db)
                .await?
        };
    }
    let mut rows = rows!(domain_fair_share, DomainName: String);
    while let Some((name, weight, decayed, normalized, factor)) = rows.try_next().await? {
        hierarchy.put_domain(&Arc::from(name), decode::share(weight, &decayed, normalized, factor)?);
    }
    drop(rows);
    let mut rows = rows!(project_fair_share, ProjectId: Uuid);
    while let Some((id, weight, decayed, normalized, factor)) = rows.try_next().await? {
        let id = ProjectId(id);
        if let Some(domain) = domain_of(id) {
            hierarchy.put_project(id, &domain, decode::share(weight, &decayed, normalized, factor)?);
        }
    }
    drop(rows);
    let users = share_pages::load(db, group.key).await?;
    let whole = tokio::spawn(async move {
        let (stored, users) = users.await?;
        Ok((hierarchy.with_users(users), stored))
    });
    Ok(async move { whole.await? }.boxed())
}

/// Stores the shares of `changed` as they are in `hierarchy`. Returns how much is stored of users then.
#[tracing::instrument(name = "db.shares.save", level = "debug", skip_all, fields(group = group.name), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: &Group,
    hierarchy: &Hierarchy,
    changed: &BTreeSet<Owner>,
    stored: StoredShares,
    now: Timestamp,
) -> Result<StoredShares> {
    macro_rules! store {
        ($table:ident, $key:ident, $column:ident, $shares:expr) => {
            let rows = $shares.map(|(key, share)| $table::ActiveModel {
                resource_group: Set(group.name.clone()),
                $column: Set(key),
                weight: Set(share.weight.map(Weight::ten_thousandths)),
                total_decayed_usage: Set(share.history.total_decayed_usage.to_json()),
                normalized_usage: Set(share.history.normalized_usage),
                fair_share_factor: Set(share.fair_share_factor),
                created_at: Set(now.micros()),
                updated_at: Set(now.micros()),
            });
            bulk::replace(
                db,
                rows,
                &[$table::Column::ResourceGroup, $table::Column::$key],
                &[
                    $table::Column::Weight,
                    $table::Column::TotalDecayedUsage,
                    $table::Column::NormalizedUsage,
                    $table::Column::FairShareFactor,
                    $table::Column::UpdatedAt,
                ],
                Spread::Scattered,
            )
            .await?;
        };
    }
    // A share is looked up for its own tier only.
    let domains = changed.iter().filter_map(|owner| match owner {
        Owner::Domain(name) => Some((name.to_string(), hierarchy.share(owner)?)),
        _ => None,
    });
    store!(domain_fair_share, DomainName, domain_name, domains);
    let projects = changed.iter().filter_map(|owner| match owner {
        Owner::Project(id) => Some((id.0, hierarchy.share(owner)?)),
        _ => None,
    });
    store!(project_fair_share, ProjectId, project_id, projects);
    let users = changed.iter().filter_map(|owner| match owner {
        Owner::User(member) => Some((member, hierarchy.share(owner)?)),
        _ => None,
    });
    let users: Vec<(&Member, &Share)> = users.collect();
    share_pages::save(db, group.key, hierarchy.users(), &users, stored).await
}

/// Removes the share of a domain.
#[tracing::instrument(name = "db.shares.remove_domain", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn remove_domain(db: &impl ConnectionTrait, group: &str, domain: &str) -> Result<()> {
    use domain_fair_share::Column;
    let share = domain_fair_share::Entity::delete_many().filter(Column::ResourceGroup.eq(group));
    share.filter(Column::DomainName.eq(domain)).exec(db).await?;
    Ok(())
}
