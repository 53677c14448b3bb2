//! The fields that the fair shares of all three tiers have in common.

use async_graphql::{Context, Object, Result};

use crate::domain::decimal::f64_text;
use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::engine::group::snapshots::entitlements::Entitlement;
use crate::engine::group::snapshots::profile::LastCalculation;
use crate::graphql::query::service;
use crate::graphql::scalars::{Date, DateTime, JsonString};
use crate::service::VisibleGroup;

/// The fields that the fair shares of all three tiers have in common.
pub struct ShareFacts {
    pub group: VisibleGroup,
    pub owner: Owner,
    pub share: Share,
    /// `None` outside of the group.
    pub rank: Option<u32>,
}

impl ShareFacts {
    fn entitlement(&self) -> Entitlement {
        self.group.entitlement(&self.owner)
    }

    fn calculation(&self) -> Option<&LastCalculation> {
        self.group.calculation.as_ref()
    }
}

#[Object(rename_fields = "snake_case")]
impl ShareFacts {
    async fn resource_group(&self) -> &str {
        &self.group.name
    }

    /// The weight in force: what an admin has set, else the group's default.
    async fn weight(&self) -> String {
        self.group.weight(&self.share).to_string()
    }

    /// The weight that an admin has set; null: the default is in force.
    async fn configured_weight(&self) -> Option<String> {
        self.share.weight.map(|w| w.to_string())
    }

    /// The weight that divides the usage: of a user domain x project x own weight, else the own weight.
    async fn effective_weight(&self) -> String {
        self.share.effective_weight.to_string()
    }

    /// The same as `effective_weight`.
    async fn share(&self) -> String {
        self.share.effective_weight.to_string()
    }

    /// The share that the weight stands for: a part of the whole group from 0 to 1, by weight among all siblings of
    /// each tier.
    async fn nominal_share(&self) -> String {
        f64_text(self.entitlement().nominal.of_group)
    }

    /// A part of what the parent has: of a domain the group, of a project its domain, of a user the project.
    async fn nominal_share_of_parent(&self) -> String {
        f64_text(self.entitlement().nominal.of_parent)
    }

    /// A part of the whole group, by weight among those siblings that used something in the look-back window, or that hold or
    /// ask for something now.
    async fn entitled_share(&self) -> String {
        f64_text(self.entitlement().entitled.of_group)
    }

    /// A part of what the parent has, among those siblings.
    async fn entitled_share_of_parent(&self) -> String {
        f64_text(self.entitlement().entitled.of_parent)
    }

    /// Decayed usage as a part of the window's capacity: `fair_share_factor = 2 ^ -(effective_usage / effective_weight)`, unless the
    /// scheduler is one of Slurm's.
    async fn effective_usage(&self) -> String {
        f64_text(self.share.history.normalized_usage)
    }

    /// The same as `effective_usage`.
    async fn normalized_usage(&self) -> String {
        f64_text(self.share.history.normalized_usage)
    }

    /// Decayed usage by slot, in slot-seconds.
    async fn total_decayed_usage(&self) -> JsonString {
        JsonString::of(&self.share.history.total_decayed_usage)
    }

    /// Between 0 and 1; higher comes first.
    async fn fair_share_factor(&self) -> String {
        f64_text(self.share.fair_share_factor)
    }

    /// Domains and users rank in the group, projects in their domain; equals share a rank. Null outside of the group.
    async fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// How many are ranked together: domains and users in the group, projects in their domain.
    async fn ranked_count(&self) -> usize {
        self.group.ranked_count(&self.owner)
    }

    /// The rank that the last run of the day before `lookback_end` left; null if nothing of that day is kept, or it was not
    /// there then.
    async fn previous_rank(&self, ctx: &Context<'_>) -> Result<Option<u32>> {
        Ok(service(ctx)?.previous_ranks(&self.group).await.get(&self.owner).copied())
    }

    /// True if the ranking of the group lists it; otherwise it is known, but has neither usage nor a weight here.
    async fn in_group(&self) -> bool {
        self.rank.is_some()
    }

    /// Null: never yet.
    async fn last_calculated_at(&self) -> Option<DateTime> {
        self.calculation().map(|c| DateTime(c.at))
    }

    async fn lookback_start(&self) -> Option<Date> {
        self.calculation().map(|c| Date(c.lookback_start))
    }

    async fn lookback_end(&self) -> Option<Date> {
        self.calculation().map(|c| Date(c.lookback_end))
    }

    async fn half_life_days(&self) -> Option<u32> {
        self.calculation().map(|c| c.options.half_life_days)
    }

    async fn lookback_days(&self) -> Option<u32> {
        self.calculation().map(|c| c.options.lookback_days)
    }

    async fn decay_unit_days(&self) -> Option<u32> {
        self.calculation().map(|c| c.options.decay_unit_days)
    }

    /// Weights of the slots in the calculation; empty: every slot with capacity counts 1.
    async fn resource_weights(&self) -> JsonString {
        JsonString::of(self.calculation().map_or(&self.group.options.resource_weights, |c| &c.options.resource_weights))
    }
}
