//! Builds the explanation from the data that was read.

use std::sync::Arc;

use super::answer::{
    BucketPart, CountingRules, DecayedBucket, Explanation, FactorFormula, OutlookDate, RankOutlook, UnrecordedUsage,
    WaitingWorkload, WeightPart,
};
use super::explained_row::ExplainedRow;
use super::unrecorded;
use crate::domain::bucket::Bucket;
use crate::domain::decimal::f64_text;
use crate::domain::explain::count::{BucketContribution, ContributionScale, OwnerContributions};
use crate::domain::explain::exact_text;
use crate::domain::explain::outlook::DatedPosition;
use crate::domain::explain::words::SummaryInput;
use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::options::FairShareOptions;
use crate::domain::slots::SlotUsages;
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::Weight;
use crate::engine::group::snapshots::normalized_days::NormalizedDaysCache;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::group::snapshots::tree_shares::TreeShares;
use crate::service::Result;
use crate::service::audit_log::ChangeAuthor;
use crate::service::visible_group::VisibleGroup;

/// The data of an explanation.
pub(super) struct ExplanationData<'a> {
    pub group: &'a VisibleGroup,
    pub subject: &'a ExplainedRow,
    pub recount: OwnerContributions,
    /// True if usage from before the look-back is known.
    pub has_older_usage: bool,
    pub normalized_days: NormalizedDaysCache,
    /// The authors of the weights of the domain, the project and the user.
    pub origins: [Option<ChangeAuthor>; 3],
    pub now: Timestamp,
}

fn parts(usage: &SlotUsages, facts: &GroupSnapshotData, now: Timestamp) -> UnrecordedUsage {
    let scale = ContributionScale { options: &facts.options, today: now.day() };
    UnrecordedUsage { resource_usage: usage.clone(), normalized_usage: exact_text(scale.charge(usage, &facts.today)) }
}

fn date(then: &DatedPosition) -> OutlookDate {
    let decayed =
        |(start, weight): &(Day, f64)| DecayedBucket { period_start: *start, decay_weight: exact_text(*weight) };
    OutlookDate {
        date: then.day,
        place: then.place,
        normalized_usage: exact_text(then.normalized_usage),
        fair_share_factor: f64_text(then.fair_share_factor),
        decayed: then.decayed.iter().map(decayed).collect(),
    }
}

impl ExplanationData<'_> {
    pub fn facts(&self) -> &GroupSnapshotData {
        self.group.facts()
    }

    pub fn share(&self) -> &Share {
        self.subject.share()
    }

    pub fn write(&self, place: Option<i64>, workload: Option<WaitingWorkload>) -> Result<Explanation> {
        let ContributionScale { today, options } = self.facts().scale(self.now);
        let (standing, tree) = (self.standing(place)?, self.facts().tree_shares());
        let better = standing.outlook.as_ref().zip(standing.place);
        let beside = unrecorded::OpenKernelUsage::of(self.facts(), &self.subject.owner(), self.now);
        let story = SummaryInput {
            place: standing.place,
            count: standing.of,
            equals: standing.equals,
            recount: &self.recount,
            resource_weights: &options.resource_weights,
            has_older_usage: self.has_older_usage,
            has_unrecorded_usage: beside.unrecorded.iter().any(|(_, usage)| !usage.is_zero()),
            better: better.and_then(|(outlook, place)| outlook.first_better(place)),
            today: self.now.day(),
        };
        let formula = tree.map_or_else(|| self.formula(), |tree| self.tree_formula(tree));
        Ok(Explanation {
            resource_group: self.group.name.to_string(),
            tier: self.subject.tier().as_str(),
            whom: self.subject.entity_ref(),
            summary: tree.map_or_else(|| story.describe(), |tree| standing.tree_summary(tree, &formula.text)),
            in_group: self.subject.rank().is_some(),
            rank: self.subject.rank(),
            place: standing.place,
            of: standing.of,
            equals: standing.equals,
            order: self.facts().compared_order().as_str(),
            formula,
            tree_levels: tree.map(|tree| self.tree_levels(tree)),
            weights: self.weights(),
            rules: self.rules(today, options),
            buckets: self.buckets(tree),
            unrecorded: parts(&beside.unrecorded, self.facts(), self.now),
            committed: parts(&beside.committed, self.facts(), self.now),
            above: standing.above,
            below: standing.below,
            if_nothing_is_run: RankOutlook {
                from: self.now,
                next_run: standing.outlook.as_ref().map(|outlook| date(&outlook.next_run)),
                dates: standing.outlook.iter().flat_map(|outlook| &outlook.dates).map(date).collect(),
                until: standing.outlook.as_ref().map_or(self.now.day(), |outlook| outlook.until),
            },
            weights_for_places: standing.weights,
            costs: standing.costs,
            workload,
        })
    }

    fn formula(&self) -> FactorFormula {
        let (used, weight) = (self.recount.normalized_usage, self.share().effective_weight);
        let factor = f64_text(self.share().fair_share_factor);
        FactorFormula {
            text: format!("2 ^ -({} / {weight}) = {factor}", exact_text(used)),
            normalized_usage: exact_text(used),
            effective_weight: weight,
            exponent: f64_text(self.share().exponent.to_f64()),
            fair_share_factor: factor,
        }
    }

    fn rules(&self, today: Day, options: &FairShareOptions) -> CountingRules {
        CountingRules {
            calculated_at: self.facts().calculated_at(),
            today,
            decay: options.decay.name(),
            half_life_days: options.half_life_days,
            lookback_days: options.lookback_days,
            decay_unit_days: options.decay_unit_days,
            resource_weights: options.resource_weights.clone(),
        }
    }

    fn buckets(&self, tree: Option<&TreeShares>) -> Vec<BucketPart> {
        let all = self.recount.normalized_usage;
        let part = |(_, count): &(Bucket, BucketContribution)| if all > 0.0 { count.contribution / all } else { 0.0 };
        let parts =
            tree.map_or_else(|| self.recount.buckets.iter().map(part).collect(), |tree| self.parts_by_slot(tree));
        let bucket = |((bucket, count), part): (&(Bucket, BucketContribution), f64)| BucketPart {
            period_start: bucket.start,
            period_end: bucket.end,
            resource_usage: bucket.usage.clone(),
            capacity_snapshot: (*bucket.capacity).clone(),
            age_days: count.age_days,
            decay_weight: exact_text(count.decay_weight),
            normalized_usage: exact_text(count.normalized_usage),
            contribution: exact_text(count.contribution),
            part: f64_text(part),
        };
        self.recount.buckets.iter().zip(parts).map(bucket).collect()
    }

    /// The weights in force of the domain, the project and the user, as far as they are multiplied.
    fn weights(&self) -> Vec<WeightPart> {
        let rows = &self.facts().rows;
        let part = |tier: Tier, owner: Owner, set: Option<Weight>| {
            let origin = self.origins[tier as usize].as_ref();
            WeightPart {
                tier: tier.as_str(),
                weight: set.unwrap_or(self.facts().options.default_weight),
                source: if set.is_some() { "set" } else { "default" },
                set_by: origin.map(|origin| origin.actor.clone()),
                set_at: origin.map(|origin| origin.at),
                reason: origin.and_then(|origin| origin.reason.clone()),
                shares: self.group.entitlement(&owner).into(),
            }
        };
        let own = part(self.subject.tier(), self.subject.owner(), self.share().weight);
        let (Tier::User, Some(project)) = (self.subject.tier(), self.subject.project()) else { return vec![own] };
        let domain = self.subject.domain();
        let of_domain = rows.domain(domain).and_then(|row| row.share.weight);
        let of_project = rows.project(project).and_then(|row| row.share.weight);
        vec![
            part(Tier::Domain, Owner::Domain(Arc::clone(domain)), of_domain),
            part(Tier::Project, Owner::Project(project), of_project),
            own,
        ]
    }
}
