//! `quota_over_quota` (DIVISION §2, KAI and Run:ai): quotas first, then the remaining capacity by priority and weight.

mod kai;
mod rounds;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DivisionAlgorithm, DivisionResult, WeightSource, remaining_capacity};
use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::trace::{DivisionStep, DivisionTrace};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::division::tree::warning::DivisionWarning;
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues};
use crate::queues::{MAX_WEIGHT, OverQuotaBy};
use crate::slots::SlotName;
use rounds::{OverQuotaRounds, RoundMember, UsageInfluence};

choices! {
    #[derive(Default)]
    pub enum Rounding {
        #[default]
        Exact = "exact", "To twelve decimals.";
        Whole = "whole", "To whole devices.";
        Kai = "kai", "As the KAI scheduler rounds.";
    }
}

choices! {
    /// The amount that usage is compared with (DIVISION §2.5).
    #[derive(Default)]
    pub enum HistoryBase {
        #[default]
        Cluster = "cluster", "As a part of the group.";
        Siblings = "siblings", "As a part of all siblings.";
    }
}

/// The options of this algorithm (DIVISION §2.3 to §2.5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub rounding: Rounding,
    /// The slots that `rounding: whole` rounds; absent: all.
    pub whole_slots: Option<Vec<String>>,
    pub history_gain: Amount,
    pub history_base: HistoryBase,
    /// For the roots; a queue says it for its children.
    pub over_quota_by: OverQuotaBy,
}

impl FlatPart for Options {
    fn facts() -> Vec<OptionFacts> {
        let new = OptionFacts::new;
        vec![
            new(
                "rounding",
                "Rounding",
                OptionValues::Choice(Rounding::choices),
                "Whether a fair share may be a part of a device.",
            ),
            new("whole_slots", "Whole slots", OptionValues::Slots, "The slots that `rounding: whole` rounds.")
                .unset("all slots"),
            new(
                "over_quota_by",
                "Over quota by",
                OptionValues::Choice(OverQuotaBy::choices),
                "How queues at the top share what is left when every queue has its quota.",
            ),
            new(
                "history_gain",
                "Usage penalty",
                OptionValues::Decimal { maximum: MAX_WEIGHT },
                "How strongly past usage lowers what is left for a queue; 0: not at all.",
            ),
            new(
                "history_base",
                "Base of history",
                OptionValues::Choice(HistoryBase::choices),
                "What past usage is compared with. It matters only with a usage penalty above 0.",
            ),
        ]
    }
}

impl Options {
    /// True if the slot is divided in whole devices.
    fn is_whole(&self, slot: SlotName) -> bool {
        self.rounding == Rounding::Whole
            && self.whole_slots.as_ref().is_none_or(|slots| slots.iter().any(|s| s == slot.as_str()))
    }
}

pub(super) struct QuotaOverQuota;

impl DivisionAlgorithm for QuotaOverQuota {
    fn name(&self) -> &'static str {
        "quota_over_quota"
    }

    fn summary(&self) -> &'static str {
        "By quota first, and what is left by priority and over-quota weight."
    }

    fn divide(&self, tree: &QueueTree, options: &super::DivisionOptions, trace: &mut DivisionTrace) -> DivisionResult {
        let options = &options.quota_over_quota;
        if options.rounding == Rounding::Kai {
            return kai::divide(tree, options, trace);
        }
        let mut fair_share = QueueSlotGrid::new(tree.len(), tree.slots.len(), Amount::ZERO);
        let mut warnings = Vec::new();
        for level in tree.levels() {
            for column in 0..tree.slots.len() {
                let total = level.map_or(tree.capacity[column], |q| fair_share[(q, column)]);
                let mut division = SlotLevel { tree, options, parent: level, column, total, trace };
                division.divide(&mut fair_share, &mut warnings);
            }
        }
        DivisionResult { remaining: remaining_capacity(tree, &fair_share), fair_share, ratios: None, warnings }
    }

    fn weighs(&self, tree: &QueueTree, options: &super::DivisionOptions, queue: usize) -> WeightSource {
        let by = tree.over_quota_by(tree.queues[queue].parent, options.quota_over_quota.over_quota_by);
        match by {
            OverQuotaBy::Weight => WeightSource::OverQuotaWeight,
            OverQuotaBy::Quota => WeightSource::Neither,
        }
    }
}

/// The division of one slot among the children of one queue, or among the roots.
struct SlotLevel<'a> {
    tree: &'a QueueTree,
    options: &'a Options,
    parent: Option<usize>,
    column: usize,
    total: Amount,
    trace: &'a mut DivisionTrace,
}

impl SlotLevel<'_> {
    fn divide(&mut self, fair_share: &mut QueueSlotGrid<Amount>, warnings: &mut Vec<DivisionWarning>) {
        let (tree, column) = (self.tree, self.column);
        let (mut quotas, mut members) = (Amount::ZERO, Vec::new());
        for queue in tree.children(self.parent).iter().copied() {
            let requestable = tree.requestable(queue, column);
            let quota = tree.quota[(queue, column)].cut(requestable).min(self.quota(queue));
            fair_share[(queue, column)] = quota;
            quotas = quotas.saturating_add(quota);
            if !quota.is_zero() {
                self.trace.push(|| DivisionStep {
                    queue,
                    column: Some(column),
                    rule: "quota",
                    gift: quota.into(),
                    ..DivisionStep::default()
                });
            }
            let own = self.own_weight(queue).units();
            if requestable > quota && own > 0 {
                let (share, wanted) = (quota.units(), requestable.saturating_sub(quota).units());
                members.push(RoundMember { queue, share, wanted, own, served: 0, unrecorded: 0 });
            }
        }
        if quotas > self.total {
            let detail = format!(
                "quotas in use add up to {quotas} {}, above the {} there are to divide",
                tree.slots[column], self.total
            );
            warnings.push(DivisionWarning::new(
                "over_committed",
                self.parent.map(|q| tree.name(q)),
                Some(tree.slots[column]),
                detail,
            ));
        }
        let mut left = self.total.saturating_sub(quotas).units();
        let priority = |m: &RoundMember| tree.queues[m.queue].priority;
        if !members.is_sorted_by_key(|m| Reverse(priority(m))) {
            members.sort_by_key(|m| Reverse(priority(m)));
        }
        for group in members.chunk_by_mut(|a, b| priority(a) == priority(b)) {
            if left == 0 {
                break;
            }
            left = self.divide_group(group, left);
            for member in group {
                fair_share[(member.queue, column)] = Amount::from_units(member.share);
            }
        }
    }

    /// The quota of a queue. An unlimited quota counts as the total of the level.
    fn quota(&self, queue: usize) -> Amount {
        self.tree.quota[(queue, self.column)].unwrap_or(self.total)
    }

    fn own_weight(&self, queue: usize) -> Amount {
        let by = self.tree.over_quota_by(self.parent, self.options.over_quota_by);
        match by {
            OverQuotaBy::Weight => self.tree.over_quota_weight[(queue, self.column)],
            OverQuotaBy::Quota => self.quota(queue),
        }
    }

    /// Divides `left` in one priority group, to exhaustion. Returns the amount that no member may have.
    fn divide_group(&mut self, group: &mut [RoundMember], left: u128) -> u128 {
        let (options, slot) = (self.options, self.tree.slots[self.column]);
        let mut rounds = OverQuotaRounds {
            tree: self.tree,
            column: self.column,
            whole: options.is_whole(slot),
            history: (!options.history_gain.is_zero()).then(|| UsageInfluence {
                gain: options.history_gain.units(),
                siblings: match options.history_base {
                    HistoryBase::Cluster => None,
                    HistoryBase::Siblings => Some(self.usage_of_all().units()),
                },
            }),
            trace: self.trace,
        };
        rounds.divide(group, left)
    }

    fn usage_of_all(&self) -> Amount {
        let siblings = self.tree.children(self.parent).iter();
        siblings.fold(Amount::ZERO, |sum, q| sum.saturating_add(self.tree.usage[(*q, self.column)]))
    }
}
