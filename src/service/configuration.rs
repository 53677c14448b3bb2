//! Queues and weights of one group together, as a file describes them: everything in one transaction, or nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::input::terms::WriteTerms;
use super::{Caller, Result, Service};
use crate::api::input_warning::InputWarning;
use crate::domain::ids::Owner;
use crate::domain::queues::QueueConfig;
use crate::engine::group::changes::queues::{self, QueuesChanged};
use crate::engine::group::changes::weights::{self, WeightItem, WeightUpdate};
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;

/// The wanted configuration of a group.
#[derive(Clone, Debug, Default)]
pub struct WantedConfiguration {
    pub weights: Vec<WeightItem>,
    /// `None` leaves queues unchanged.
    pub queues: Option<Vec<QueueConfig>>,
    /// True if weights that are not named are unset; queues that are not named are removed, if `queues` is given.
    pub prune: bool,
}

/// The changes to a configuration.
#[derive(Clone, Debug)]
pub struct ConfigurationChanged {
    /// The changed weights: first the named ones in their order, then the pruned ones.
    pub weights: Vec<WeightUpdate>,
    /// The number of named weights that had their value already.
    pub unchanged: usize,
    /// `None` if queues were left unchanged.
    pub queues: Option<QueuesChanged>,
    /// Probable mistakes in the weights; pointers start at `/items/N`.
    pub warnings: Vec<InputWarning>,
}

impl ConfigurationChanged {
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty() && self.queues.as_ref().is_none_or(|queues| queues.changes.is_empty())
    }
}

impl Service {
    /// Sets the configuration. Faults point at `/items/N` for weights and `/queues/N/key` for queues.
    #[tracing::instrument(
        name = "service.configuration.put_configuration",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_configuration(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        wanted: WantedConfiguration,
        terms: impl Into<WriteTerms>,
    ) -> Result<ConfigurationChanged> {
        caller.require_admin()?;
        let WriteTerms { reason, if_revision } = terms.into();
        let change = async move |session: &mut GroupTransaction| {
            session.require_revision(if_revision.as_deref()).await?;
            let changed = plan(session, wanted).await?;
            if let Some(queues) = &changed.queues {
                queues::store_queues(session, "queues.put", reason.clone(), queues).await?;
            }
            weights::store_weights(session, &changed.weights, reason).await?;
            Ok(changed)
        };
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }

    /// The changes that [`Service::put_configuration`] would make, without making them. It refuses what the write would
    /// refuse.
    #[tracing::instrument(
        name = "service.configuration.preview_configuration",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn preview_configuration(
        self: &Arc<Self>,
        caller: &Caller,
        group: &str,
        wanted: WantedConfiguration,
    ) -> Result<ConfigurationChanged> {
        caller.require_admin()?;
        let change = async move |session: &mut GroupTransaction| plan(session, wanted).await;
        run_to_completion(Arc::clone(self).preview(caller.clone(), group.to_owned(), change)).await
    }
}

/// Checks the configuration against the group under the session's lock, and returns the changes.
async fn plan(session: &mut GroupTransaction, wanted: WantedConfiguration) -> Result<ConfigurationChanged> {
    let WantedConfiguration { weights: items, queues, prune } = wanted;
    let queues = queues.map(|written| queues::plan(session, written, |_| prune)).transpose()?;
    let mut changes = weights::plan(session, &items).await?;
    let warnings = weights::warnings(&session.people(), &items, &changes);
    if prune {
        let named: BTreeSet<Owner> = changes.iter().map(|change| change.target.clone()).collect();
        let hierarchy = &session.state().hierarchy;
        let weight = |entity: &Owner| hierarchy.share(entity).and_then(|share| share.weight);
        let mut set: Vec<Owner> = hierarchy.owners().filter(|e| weight(e).is_some() && !named.contains(e)).collect();
        set.sort_unstable();
        changes.extend(set.into_iter().map(|target| WeightUpdate { from: weight(&target), target, to: None }));
    }
    let all = changes.len();
    changes.retain(|change| change.from != change.to);
    Ok(ConfigurationChanged { unchanged: all - changes.len(), weights: changes, queues, warnings })
}
