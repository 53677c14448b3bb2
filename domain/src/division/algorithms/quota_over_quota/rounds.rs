//! The rounds of one priority group over one slot (DIVISION §2.2, §2.3, §2.5), in integers of `10^-12`.

use std::cmp::Ordering;

use crate::decimal::Amount;
use crate::division::exact::{apportion, cmp_products, mul_div};
use crate::division::trace::{AllocationStep, DivisionStep, DivisionTrace};
use crate::division::tree::QueueTree;

/// One whole device, in units of 10^-12.
const WHOLE_DEVICE: u128 = Amount::whole(1).units();
/// The number 1 for normalised weights of the history gain, which have 18 places.
const WEIGHT_SCALE: u128 = WHOLE_DEVICE * WEIGHT_PRECISION;
const WEIGHT_PRECISION: u128 = 1_000_000;

/// A member that wants more than its quota.
pub(super) struct RoundMember {
    pub queue: usize,
    /// The amount that it has: its quota and all gifts.
    pub share: u128,
    pub wanted: u128,
    /// The over-quota weight of the queue itself, above 0.
    pub own: u128,
    /// The amount that the rounds gave it.
    pub served: u128,
    /// A unit of 10^-12 that it got from rounding and that no step contains yet.
    pub unrecorded: u128,
}

impl RoundMember {
    fn give(&mut self, gift: u128) {
        self.share += gift;
        self.wanted -= gift;
        self.served += gift;
    }
}

/// The influence of past usage on the weights.
pub(super) struct UsageInfluence {
    pub gain: u128,
    /// The sum that usage is divided by; `None` if usage is already a ratio of the cluster.
    pub siblings: Option<u128>,
}

pub(super) struct OverQuotaRounds<'a> {
    pub tree: &'a QueueTree,
    pub column: usize,
    pub whole: bool,
    pub history: Option<UsageInfluence>,
    pub trace: &'a mut DivisionTrace,
}

/// The gift per weight, as the fraction `num / den`.
#[derive(Clone, Copy)]
struct AmountPerWeight {
    num: u128,
    den: u128,
}

impl AmountPerWeight {
    fn of(self, weight: u128) -> u128 {
        mul_div(weight, self.num, self.den).0
    }
}

impl OverQuotaRounds<'_> {
    /// Divides `left` to exhaustion. Returns the amount that no member may have.
    pub fn divide(&mut self, group: &mut [RoundMember], left: u128) -> u128 {
        let left = match self.history.take() {
            Some(history) => self.fill_with_history(group, left, &history),
            None => self.fill(group, left),
        };
        if self.whole { self.make_whole(group, left) } else { left }
    }

    /// Rounds with constant weights. Every unsatisfied member has the same gift per weight, so that one level is the
    /// exact state, and nothing is rounded before the last round.
    fn fill(&mut self, group: &mut [RoundMember], left: u128) -> u128 {
        let mut hungry: Vec<usize> = (0..group.len()).collect();
        let mut before = AmountPerWeight { num: 0, den: 1 };
        let mut level =
            AmountPerWeight { num: left, den: group.iter().fold(0, |sum: u128, m| sum.saturating_add(m.own)) };
        for round in 1.. {
            let (mut gifts, mut weights) = (0u128, 0u128);
            hungry.retain(|at| {
                let member = &mut group[*at];
                let served = cmp_products(member.wanted, level.den, member.own, level.num) != Ordering::Greater;
                self.record_round(member, round, before, level, served);
                if served {
                    gifts += member.wanted;
                    weights += member.own;
                    member.give(member.wanted);
                }
                !served
            });
            if weights == 0 {
                break;
            }
            before = level;
            level = AmountPerWeight { num: level.num.saturating_sub(gifts), den: level.den.saturating_sub(weights) };
            if hungry.is_empty() {
                return level.num;
            }
        }
        let weights: Vec<u128> = hungry.iter().map(|at| group[*at].own).collect();
        let parts =
            apportion(level.num, &weights, |a, b| self.tree.by_age(group[hungry[a]].queue, group[hungry[b]].queue));
        for (at, part) in hungry.into_iter().zip(parts) {
            let member = &mut group[at];
            let last_digit = part - level.of(member.own).min(part);
            if self.whole {
                member.unrecorded = last_digit;
            } else {
                self.record(member.queue, "last_digit", 0, last_digit);
            }
            member.give(part);
        }
        0
    }

    fn record_round(
        &mut self,
        member: &RoundMember,
        round: u32,
        before: AmountPerWeight,
        level: AmountPerWeight,
        served: bool,
    ) {
        let (tree, column) = (self.tree, self.column);
        self.trace.push(|| {
            let past = before.of(member.own);
            let offer = level.of(member.own) - past;
            let gift = if served { member.wanted - past } else { offer };
            let divided = level.num.saturating_sub(before.of(level.den));
            round_step(tree, column, member, round, [divided, member.own, level.den, offer, gift], served)
        });
    }

    /// Records a step that gives `added` and takes `cut`.
    fn record(&mut self, queue: usize, rule: &'static str, cut: u128, added: u128) {
        if added != cut {
            let gift = AllocationStep::between(Amount::from_units(cut), Amount::from_units(added));
            let column = Some(self.column);
            self.trace.push(|| DivisionStep { queue, column, rule, gift, ..DivisionStep::default() });
        }
    }

    /// Rounds with history. Weights follow from the members that still want more, so they change from round to round,
    /// and each round is rounded separately.
    fn fill_with_history(&mut self, group: &mut [RoundMember], mut left: u128, history: &UsageInfluence) -> u128 {
        let mut hungry: Vec<usize> = (0..group.len()).collect();
        for round in 1.. {
            let sum = hungry.iter().fold(0u128, |sum, at| sum.saturating_add(group[*at].own));
            let weights: Vec<u128> = hungry.iter().map(|at| self.round_weight(&group[*at], sum, history)).collect();
            let offers =
                apportion(left, &weights, |a, b| self.tree.by_age(group[hungry[a]].queue, group[hungry[b]].queue));
            let weight_sum = weights.iter().fold(0u128, |sum, w| sum.saturating_add(*w));
            let divided = left;
            for ((at, offer), weight) in hungry.iter().zip(&offers).zip(weights) {
                let member = &mut group[*at];
                let gift = member.wanted.min(*offer);
                let figures = [divided, weight / WEIGHT_PRECISION, weight_sum / WEIGHT_PRECISION, *offer, gift];
                let (tree, column, served) = (self.tree, self.column, gift < *offer);
                self.trace.push(|| round_step(tree, column, member, round, figures, served));
                member.give(gift);
                left -= gift;
            }
            hungry.retain(|at| group[*at].wanted > 0);
            // Ends if nothing is left, if no member got anything, or if no member wants more.
            if left == 0 || left == divided || hungry.is_empty() {
                break;
            }
        }
        left
    }

    /// `max(0, w + k (w - u))`, with w normalised among the members that want more (DIVISION §2.5).
    fn round_weight(&self, member: &RoundMember, sum: u128, history: &UsageInfluence) -> u128 {
        let weight = mul_div(member.own, WEIGHT_SCALE, sum).0;
        let usage = self.tree.usage[(member.queue, self.column)].units();
        let usage = match history.siblings {
            None => usage * WEIGHT_PRECISION,
            Some(all) => mul_div(usage, WEIGHT_SCALE, all).0,
        };
        let gained = weight.saturating_add(mul_div(history.gain, weight, WHOLE_DEVICE).0);
        gained.saturating_sub(mul_div(history.gain, usage, WHOLE_DEVICE).0)
    }

    /// Cuts the shares of unsatisfied members to whole devices and gives the devices that this frees one by one, by
    /// largest remainder. No member gets more than it wants, and no quota is cut.
    fn make_whole(&mut self, group: &mut [RoundMember], mut left: u128) -> u128 {
        let mut waiting = Vec::new();
        for (at, member) in group.iter_mut().enumerate() {
            let unrecorded = std::mem::take(&mut member.unrecorded);
            if member.wanted == 0 || member.served == 0 {
                self.record(member.queue, "last_digit", 0, unrecorded);
                continue;
            }
            let rest = (member.share % WHOLE_DEVICE).min(member.served);
            member.share -= rest;
            member.served -= rest;
            member.wanted += rest;
            left += rest;
            waiting.push((rest, at));
            self.record(member.queue, "whole", rest, unrecorded);
        }
        let age = |at: usize| group[at].queue;
        waiting.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| self.tree.by_age(age(a.1), age(b.1))));
        let mut given = true;
        while given && left > 0 {
            given = false;
            for (_, at) in &waiting {
                let member = &mut group[*at];
                let gift = (WHOLE_DEVICE - member.share % WHOLE_DEVICE).min(member.wanted);
                if gift > 0 && gift <= left {
                    given = true;
                    left -= gift;
                    self.record(member.queue, "remainder", 0, gift);
                    member.give(gift);
                }
            }
        }
        left
    }
}

/// The step of one round. `figures` are the amount divided, weight, sum of weights, offer and gift.
fn round_step(
    tree: &QueueTree,
    column: usize,
    member: &RoundMember,
    round: u32,
    figures: [u128; 5],
    served: bool,
) -> DivisionStep {
    let [divided, weight, weight_sum, offer, gift] = figures.map(Amount::from_units);
    let queue = member.queue;
    let by_limit = tree.limit[(queue, column)].cut(Amount::MAX) < tree.request[(queue, column)];
    DivisionStep {
        queue,
        column: Some(column),
        rule: "over_quota",
        round,
        priority: Some(tree.queues[queue].priority),
        divided: Some(divided),
        weight: Some(weight),
        weight_sum: Some(weight_sum),
        offer: Some(offer),
        gift: gift.into(),
        capped_by: (served && gift < offer).then_some(if by_limit { "limit".into() } else { "request".into() }),
        ..DivisionStep::default()
    }
}
