//! Weights: all of a request are set or none, effective at once (FAIR_SHARE §7).

use std::sync::Arc;

use super::input::terms::WriteTerms;
use super::{Caller, Result, Service};
use crate::api::input_warning::InputWarning;
use crate::engine::group::changes::weights;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;
use crate::service::visible_group::VisibleGroup;

pub use crate::engine::group::changes::weights::{WeightItem, WeightTarget, WeightUpdate};
pub use crate::engine::group::snapshots::snapshot_data::WeightRow;

#[derive(Clone, Debug)]
pub struct WeightsChanged {
    /// Weights that were set, changed or confirmed.
    pub upserted: u64,
    /// Weights that were set before and are not any more.
    pub deleted: u64,
    pub affected: Vec<WeightRow>,
    /// Probable mistakes; pointers start at `/items/N`.
    pub warnings: Vec<InputWarning>,
    pub group: VisibleGroup,
}

impl Service {
    /// Every weight that is set in the group: domains, then projects, then users, each by id.
    pub fn weights(&self, caller: &Caller, group: &str) -> Result<Vec<WeightRow>> {
        Ok(self.group_for_readers(caller, group)?.whole()?.weights())
    }

    /// Sets and unsets weights in one transaction. Pointers in faults start at `/items/N`.
    #[tracing::instrument(
        name = "service.weights.put_weights",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_weights(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        items: Vec<WeightItem>,
        terms: impl Into<WriteTerms>,
    ) -> Result<WeightsChanged> {
        caller.require_admin()?;
        let WriteTerms { reason, if_revision } = terms.into();
        let change = async move |session: &mut GroupTransaction| {
            session.require_revision(if_revision.as_deref()).await?;
            let mut changes = weights::plan(session, &items).await?;
            let warnings = weights::warnings(&session.people(), &items, &changes);
            // The answer lists a confirmed weight, but not one that was neither set before nor is set now.
            changes.retain(|change| change.from.is_some() || change.to.is_some());
            weights::store_weights(session, &changes, reason).await?;
            Ok((changes, warnings))
        };
        let ((changes, warnings), group) =
            run_to_completion(Arc::clone(self).change_and_see(caller, group, change)).await?;
        let upserted = changes.iter().filter(|change| change.to.is_some()).count() as u64;
        let deleted = changes.len() as u64 - upserted;
        let affected = changes.into_iter().map(|change| WeightRow { target: change.target, weight: change.to });
        Ok(WeightsChanged { upserted, deleted, affected: affected.collect(), warnings, group })
    }
}
