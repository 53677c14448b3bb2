//! `rounding: kai` (DIVISION appendix A): KAI's own division, step by step in 64-bit floats.

use super::{HistoryBase, Options};
use crate::decimal::Amount;
use crate::division::algorithms::{DivisionResult, remaining_capacity};
use crate::division::trace::{DivisionStep, DivisionTrace, WHOLE_UNITS};
use crate::division::tree::QueueTree;
use crate::division::tree::grid::QueueSlotGrid;
use crate::queues::{Bound, OverQuotaBy};

pub(super) fn divide(tree: &QueueTree, options: &Options, trace: &mut DivisionTrace) -> DivisionResult {
    let mut shares = QueueSlotGrid::new(tree.len(), tree.slots.len(), 0.0);
    for level in tree.levels() {
        // A sum of floats depends on its order. Age and id give an order that does not depend on the input's.
        let mut queues = tree.children(level).to_vec();
        queues.sort_by(|a, b| tree.by_age(*a, *b));
        for column in 0..tree.slots.len() {
            let total = level.map_or_else(|| to_float(tree.capacity[column]), |q| shares[(q, column)]);
            let by = tree.over_quota_by(level, options.over_quota_by);
            let mut state = KaiState::new(tree, options, &queues, by, column, total, trace);
            state.divide();
            for member in state.members {
                shares[(member.queue, column)] = member.share;
            }
        }
    }
    let mut fair_share = QueueSlotGrid::new(tree.len(), tree.slots.len(), Amount::ZERO);
    for queue in 0..tree.len() {
        for column in 0..tree.slots.len() {
            fair_share[(queue, column)] = Amount::from_f64(shares[(queue, column)]);
        }
    }
    DivisionResult { remaining: remaining_capacity(tree, &fair_share), fair_share, ratios: None, warnings: Vec::new() }
}

/// The nearest float. Amounts with long fractions are converted through their text, because parsing rounds only once.
fn to_float(amount: Amount) -> f64 {
    const MAX_EXACT_INTEGER: u128 = 1 << f64::MANTISSA_DIGITS;
    const WHOLE_DEVICE: u128 = Amount::whole(1).units();
    let units = amount.units();
    if units < MAX_EXACT_INTEGER {
        amount.to_f64()
    } else if units.is_multiple_of(WHOLE_DEVICE) {
        (units / WHOLE_DEVICE) as f64
    } else {
        amount.to_string().parse().unwrap_or_else(|_| amount.to_f64())
    }
}

struct KaiMember {
    queue: usize,
    priority: i32,
    quota: f64,
    limit: f64,
    request: f64,
    weight: f64,
    usage: f64,
    share: f64,
    remembered: Option<f64>,
}

impl KaiMember {
    fn requestable(&self) -> f64 {
        self.request.min(self.limit)
    }

    fn has_demand(&self) -> bool {
        self.request > self.share && self.limit > self.share
    }
}

/// The amount that was divided, the weight, the sum of weights and the offer; then the reason that cut the offer, if
/// any.
type QueueOffer = ([f64; 4], &'static str);

struct KaiState<'a> {
    column: usize,
    gain: f64,
    left: f64,
    members: Vec<KaiMember>,
    trace: &'a mut DivisionTrace,
}

impl<'a> KaiState<'a> {
    fn new(
        tree: &QueueTree,
        options: &Options,
        queues: &[usize],
        by: OverQuotaBy,
        column: usize,
        total: f64,
        trace: &'a mut DivisionTrace,
    ) -> Self {
        let usage = |q: usize| to_float(tree.usage[(q, column)]);
        let usage_base = match options.history_base {
            HistoryBase::Cluster => 1.0,
            HistoryBase::Siblings => queues.iter().map(|q| usage(*q)).sum(),
        };
        let bound = |bound: Bound, unlimited: f64| match bound {
            Bound::Limited(amount) => to_float(amount),
            Bound::Unlimited => unlimited,
        };
        let member = |queue: usize| {
            let cell = (queue, column);
            let quota = bound(tree.quota[cell], total);
            KaiMember {
                queue,
                priority: tree.queues[queue].priority,
                quota,
                limit: bound(tree.limit[cell], f64::INFINITY),
                request: to_float(tree.request[cell]),
                weight: match by {
                    OverQuotaBy::Weight => to_float(tree.over_quota_weight[cell]),
                    OverQuotaBy::Quota => quota,
                },
                usage: if usage_base > 0.0 { usage(queue) / usage_base } else { 0.0 },
                share: 0.0,
                remembered: None,
            }
        };
        let mut members: Vec<KaiMember> = queues.iter().copied().map(member).collect();
        // The sort is stable, so age and id still order members of equal priority.
        members.sort_by_key(|m| std::cmp::Reverse(m.priority));
        Self { column, gain: to_float(options.history_gain), left: total, members, trace }
    }

    fn divide(&mut self) {
        let mut members = std::mem::take(&mut self.members);
        for member in &mut members {
            member.share = member.quota.min(member.requestable());
            self.left -= member.share;
            self.record(member, "quota", 0, None, 0.0);
        }
        if self.left > 0.0 {
            for group in members.chunk_by_mut(|a, b| a.priority == b.priority) {
                self.over_quota(group);
            }
            for group in members.chunk_by_mut(|a, b| a.priority == b.priority) {
                self.remainder(group);
            }
        }
        self.members = members;
    }

    fn over_quota(&mut self, group: &mut [KaiMember]) {
        for round in 1.. {
            let divided = self.left;
            let own_sum: f64 = group.iter().filter(|m| m.requestable() > m.share).map(|m| m.weight).sum();
            if own_sum <= 0.0 {
                return;
            }
            let weigh = |m: &KaiMember| {
                let own = m.weight / own_sum;
                if m.has_demand() { (own + self.gain * (own - m.usage)).max(0.0) } else { 0.0 }
            };
            let weights: Vec<f64> = group.iter().map(weigh).collect();
            let sum: f64 = weights.iter().sum();
            if sum <= 0.0 {
                return;
            }
            let mut again = false;
            for (member, weight) in group.iter_mut().zip(weights).filter(|(_, weight)| *weight > 0.0) {
                if self.left <= 0.0 {
                    return;
                }
                // KAI normalises the weight first. The order of multiplication and division decides the last bit.
                let offer = divided * (weight / sum);
                let wanted = member.requestable() - member.share;
                let gift = if wanted <= offer {
                    again |= wanted < offer;
                    member.remembered = None;
                    wanted
                } else {
                    let whole = offer.floor();
                    if offer > whole {
                        member.remembered = Some(offer - whole);
                    }
                    whole
                };
                let before = member.share;
                member.share += gift;
                self.left -= gift;
                // Without history, the configured weights give the same result and are easier to read.
                let [weight, sum] = if self.gain > 0.0 { [weight, sum] } else { [member.weight, own_sum] };
                let cap = match (wanted <= offer, member.limit < member.request) {
                    (false, _) => WHOLE_UNITS,
                    (true, true) => "limit",
                    (true, false) => "request",
                };
                self.record(member, "over_quota", round, Some(([divided, weight, sum, offer], cap)), before);
            }
            if !again {
                return;
            }
        }
    }

    fn remainder(&mut self, group: &mut [KaiMember]) {
        let mut waiting: Vec<&mut KaiMember> = group.iter_mut().filter(|m| m.remembered.is_some()).collect();
        waiting.sort_by(|a, b| b.remembered.unwrap_or(0.0).total_cmp(&a.remembered.unwrap_or(0.0)));
        for member in waiting {
            let (before, gift) = (member.share, self.left.clamp(0.0, 1.0));
            member.share += gift;
            self.left -= gift;
            self.record(member, "remainder", 0, None, before);
        }
    }

    /// Records a step from a share of `before`, with its offer and the reason that may have cut it. The gift is a
    /// difference of amounts, because such differences add up exactly and those of floats do not.
    fn record(&mut self, member: &KaiMember, rule: &'static str, round: u32, offered: Option<QueueOffer>, before: f64) {
        let (from, to) = (Amount::from_f64(before), Amount::from_f64(member.share));
        if offered.is_none() && from == to {
            return;
        }
        let gift = to.saturating_sub(from);
        let (figures, cap) = offered.map_or(([None; 4], ""), |(f, cap)| (f.map(|f| Some(Amount::from_f64(f))), cap));
        let [divided, weight, weight_sum, offer] = figures;
        // Offer and gift were rounded separately, so the gift may be larger in the last digit.
        let offer = offer.map(|offer| offer.max(gift));
        let (column, queue, priority) = (Some(self.column), member.queue, offer.map(|_| member.priority));
        self.trace.push(|| DivisionStep {
            queue,
            column,
            rule,
            round,
            priority,
            divided,
            weight,
            weight_sum,
            offer,
            gift: gift.into(),
            capped_by: offer.filter(|offer| gift < *offer).map(|_| cap.into()),
            ..DivisionStep::default()
        });
    }
}
