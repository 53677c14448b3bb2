//! Resource groups with their options as GraphQL shows them.

use async_graphql::{Context, ID, Object, Result};

use super::InputWarning;
use crate::domain::explain::exact_text;
use crate::graphql::global_id;
use crate::graphql::guard;
use crate::graphql::orders::SliceGapPolicy;
use crate::graphql::scalars::{DateTime, JsonString};
use crate::service::VisibleGroup;

/// A resource group: a cluster, partition or node pool with its scheduler.
pub struct ScalingGroup(pub VisibleGroup);

impl ScalingGroup {
    pub const KIND: &str = "ScalingGroup";
}

#[Object(rename_fields = "snake_case")]
impl ScalingGroup {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.0.name])
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The name of a sequencer; `metadata` lists them.
    async fn scheduler(&self) -> &str {
        self.0.scheduler.name()
    }

    /// All options in force, defaults included.
    async fn scheduler_opts(&self) -> Option<JsonString> {
        Some(JsonString(self.0.options.to_json().into()))
    }

    /// Only the options that an admin has set.
    async fn configured_scheduler_opts(&self) -> JsonString {
        JsonString(self.0.scheduler_opts.clone().into())
    }

    /// How much usage counts by its age: one number for each day of the look-back, the first for usage of today.
    async fn decay_weights(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        let weights = self.0.options.decay_weights();
        guard::spend_rows(ctx, weights.len())?;
        Ok(weights.into_iter().map(exact_text).collect())
    }

    async fn gap_policy(&self) -> SliceGapPolicy {
        self.0.options.gap_policy.into()
    }

    /// The total capacity of the alive and schedulable agents, by slot.
    async fn capacity(&self) -> JsonString {
        JsonString::of(&self.0.capacity)
    }

    /// The total amounts that running kernels hold, by slot.
    async fn in_use(&self, ctx: &Context<'_>) -> Result<JsonString> {
        guard::charge_rows(ctx, self.0.count_projects())?;
        Ok(JsonString::of(&self.0.in_use()))
    }

    /// The total amounts that pending kernels ask for, by slot.
    async fn waiting(&self, ctx: &Context<'_>) -> Result<JsonString> {
        guard::charge_rows(ctx, self.0.count_projects())?;
        Ok(JsonString::of(&self.0.waiting()))
    }

    /// Another text whenever anything of the group has changed, kernels included.
    async fn revision(&self) -> String {
        self.0.etag().trim_matches('"').to_owned()
    }

    /// Likely mistakes in the options as the group is now; never a refusal.
    async fn warnings(&self) -> Vec<InputWarning> {
        self.0.warnings().into_iter().map(InputWarning::from).collect()
    }

    /// Moves with every change of weights, options, agents, capacities, queues and people; for `if_revision`.
    async fn config_revision(&self) -> String {
        self.0.config_revision.to_string()
    }

    /// When fair shares were last calculated; null: never yet.
    async fn calculated_at(&self) -> Option<DateTime> {
        self.0.calculated_at().map(DateTime)
    }
}
