//! Weights: all or nothing, effective at once (§7).

use std::sync::Arc;

use super::group::changes::weights;
use super::group::published::PublishedGroup;
use super::group::session::Session;
use super::work::detached;
use super::{Caller, Result, Service};
use crate::domain::ids::Owner;
use crate::domain::weight::Weight;

pub use super::group::changes::weights::{Target, WeightChange, WeightItem};

/// One weight that an admin has set.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightRow {
    pub target: Owner,
    /// `None` in the answer to a write that unset it.
    pub weight: Option<Weight>,
}

#[derive(Clone, Debug)]
pub struct WeightsChanged {
    /// Weights that were set, changed or confirmed.
    pub upserted: u64,
    /// Weights that were set before and are not any more.
    pub deleted: u64,
    pub affected: Vec<WeightRow>,
    pub group: Arc<PublishedGroup>,
}

impl PublishedGroup {
    /// Every weight that is set: domains, then projects, then users.
    pub fn weights(&self) -> Vec<WeightRow> {
        let mut rows: Vec<WeightRow> = Vec::new();
        rows.extend(
            self.domains
                .iter()
                .map(|d| WeightRow { target: Owner::Domain(Arc::clone(&d.domain_name)), weight: d.share.weight }),
        );
        rows.extend(
            self.projects.iter().map(|p| WeightRow { target: Owner::Project(p.project_id), weight: p.share.weight }),
        );
        rows.extend(self.users.iter().map(|u| WeightRow { target: Owner::User(u.member), weight: u.share.weight }));
        rows.retain(|row| row.weight.is_some());
        rows.sort_unstable_by(|a, b| a.target.cmp(&b.target));
        rows
    }
}

impl Service {
    /// Every weight that is set in the group: domains, then projects, then users, each by id.
    pub fn weights(&self, caller: &Caller, group: &str) -> Result<Vec<WeightRow>> {
        caller.require_reader()?;
        Ok(self.group(caller, group)?.weights())
    }

    /// Sets and unsets weights in one transaction. Pointers in faults start at `/items/N`.
    pub async fn put_weights(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        items: Vec<WeightItem>,
        reason: Option<String>,
    ) -> Result<WeightsChanged> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let mut changes = weights::plan(&mut session, &items).await?;
            // A weight that is confirmed is a change; one that was not set before and is not set now is none.
            changes.retain(|change| change.from.is_some() || change.to.is_some());
            let group = if changes.is_empty() {
                session.unchanged().await?
            } else {
                weights::book(&mut session, &caller, &changes, reason).await?;
                session.commit().await?
            };
            let upserted = changes.iter().filter(|change| change.to.is_some()).count() as u64;
            let deleted = changes.len() as u64 - upserted;
            let affected = changes.into_iter().map(|change| WeightRow { target: change.target, weight: change.to });
            Ok(WeightsChanged { upserted, deleted, affected: affected.collect(), group })
        })
        .await
    }
}
