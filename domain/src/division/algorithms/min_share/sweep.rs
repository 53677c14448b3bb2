//! The one equation of `min_share` (DIVISION §3), solved exactly by a sweep over its sorted breakpoints.

use std::cmp::{Ordering, Reverse};

use super::MinShareRule;
use crate::division::exact::{cmp_products, first_of, mul_div};

/// A child with its weight and its lower and upper limit. Ratios and weights fit into 64 bits; their sums may not.
#[derive(Clone, Copy, Default)]
pub(super) struct SweepMember {
    pub weight: u64,
    pub lower: u64,
    pub upper: u64,
}

/// Solves one level after another and reuses its memory.
#[derive(Default)]
pub(super) struct LevelSolver {
    /// The children of the level, set by the caller.
    pub members: Vec<SweepMember>,
    pub shares: Vec<u64>,
    /// The ratio that was divided by weight among the children between their limits.
    pub divided: u64,
    /// The sum of the weights of the children between their limits.
    pub weight_sum: u128,
    phases: Vec<SweepPhase>,
    breakpoints: Vec<Breakpoint>,
    remainders: Vec<(Reverse<u128>, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SweepPhase {
    /// The child has its lower limit and does not grow yet.
    AtLower,
    ProgressiveMetric,
    AtUpper,
}

/// The x at which a child begins or ends to grow: limit / weight.
#[derive(Clone, Copy)]
struct Breakpoint {
    /// An approximation of x. It orders most breakpoints; close keys are compared exactly.
    key: f64,
    child: u32,
    starts: bool,
}

/// The relative difference of two keys below which rounding may have changed their order: three roundings in each key.
const KEY_RELATIVE_ERROR: f64 = 1e-15;

impl Breakpoint {
    fn new(child: usize, member: &SweepMember, starts: bool) -> Self {
        let limit = if starts { member.lower } else { member.upper };
        Self { key: limit as f64 / member.weight as f64, child: u32::try_from(child).unwrap_or(u32::MAX), starts }
    }

    fn child(self) -> usize {
        self.child as usize
    }

    fn limit(self, members: &[SweepMember]) -> (u128, u128) {
        let member = &members[self.child()];
        (u128::from(if self.starts { member.lower } else { member.upper }), u128::from(member.weight))
    }

    /// True if rounding may have changed the order of the two.
    fn is_close_to(&self, next: &Self) -> bool {
        next.key - self.key <= KEY_RELATIVE_ERROR * next.key
    }

    fn exactly(self, other: Self, members: &[SweepMember]) -> Ordering {
        let ((limit, weight), (others, others_weight)) = (self.limit(members), other.limit(members));
        // A child starts before it stops.
        (limit * others_weight).cmp(&(others * weight)).then_with(|| other.starts.cmp(&self.starts))
    }
}

/// Sorts by x. Keys are never negative, so their bit patterns have the same order and compare faster.
fn sort(breakpoints: &mut [Breakpoint], members: &[SweepMember]) {
    breakpoints.sort_unstable_by_key(|point| point.key.to_bits());
    for close in breakpoints.chunk_by_mut(Breakpoint::is_close_to).filter(|close| close.len() > 1) {
        close.sort_unstable_by(|a, b| a.exactly(*b, members));
    }
}

impl LevelSolver {
    /// Finds x with `sum min(u, max(l, w x)) = min(total, sum u)`, or with `l + w x` under `on_top`. The sum of the
    /// lower limits is at most `total`. A child of weight 0 gets its lower limit only.
    pub fn solve(&mut self, total: u64, rule: MinShareRule, first: impl Fn(usize, usize) -> Ordering) {
        for member in &mut self.members {
            member.lower = member.lower.min(member.upper);
            if member.weight == 0 {
                member.upper = member.lower;
            }
        }
        self.shares.clear();
        if rule == MinShareRule::Floor {
            self.shares.resize(self.members.len(), 0);
            self.sweep(total, first);
            return;
        }
        // Under `on_top` lower limits are given in advance, and only the rest above them grows from x = 0 on.
        let mut left = total;
        for member in &mut self.members {
            self.shares.push(member.lower);
            left = left.saturating_sub(member.lower);
            *member = SweepMember { lower: 0, upper: member.upper - member.lower, ..*member };
        }
        self.sweep(left, first);
    }

    /// True if the child's share follows from its weight, not from one of its limits.
    pub fn by_weight(&self, at: usize) -> bool {
        self.phases[at] == SweepPhase::ProgressiveMetric
    }

    /// Finds x and adds to the shares.
    fn sweep(&mut self, total: u64, first: impl Fn(usize, usize) -> Ordering) {
        let Self { members, phases, breakpoints, .. } = self;
        phases.clear();
        breakpoints.clear();
        // `fixed` is the sum over the children that stand at a limit; `weights` is the sum of the weights of those that
        // grow.
        let (mut fixed, mut weights) = (0u128, 0u128);
        for (child, member) in members.iter().enumerate() {
            if member.upper == member.lower {
                phases.push(SweepPhase::AtUpper);
                fixed += u128::from(member.upper);
                continue;
            }
            // A child whose upper limit is at least the total never reaches it.
            if member.upper < total {
                breakpoints.push(Breakpoint::new(child, member, false));
            }
            if member.lower > 0 {
                phases.push(SweepPhase::AtLower);
                fixed += u128::from(member.lower);
                breakpoints.push(Breakpoint::new(child, member, true));
            } else {
                phases.push(SweepPhase::ProgressiveMetric);
                weights += u128::from(member.weight);
            }
        }
        sort(breakpoints, members);
        for point in breakpoints.iter().copied() {
            let member = &members[point.child()];
            let target = u128::from(total).saturating_sub(fixed);
            let (limit, weight) = point.limit(members);
            if cmp_products(weights, limit, target, weight) != Ordering::Less {
                break;
            }
            if point.starts {
                phases[point.child()] = SweepPhase::ProgressiveMetric;
                fixed -= u128::from(member.lower);
                weights += weight;
            } else {
                phases[point.child()] = SweepPhase::AtUpper;
                fixed += u128::from(member.upper);
                weights -= weight;
            }
        }
        self.weight_sum = weights;
        self.divided = u64::try_from(u128::from(total).saturating_sub(fixed)).unwrap_or(0);
        self.share_out(first);
    }

    /// Gives every child its part. The units of 10^-18 that rounding down leaves go to the largest remainders.
    fn share_out(&mut self, first: impl Fn(usize, usize) -> Ordering) {
        self.remainders.clear();
        let (divided, mut left) = (u128::from(self.divided), u128::from(self.divided));
        for (at, (member, phase)) in self.members.iter().zip(&self.phases).enumerate() {
            self.shares[at] += match phase {
                SweepPhase::AtLower => member.lower,
                SweepPhase::AtUpper => member.upper,
                SweepPhase::ProgressiveMetric => {
                    let (part, remainder) = mul_div(divided, u128::from(member.weight), self.weight_sum);
                    left -= part;
                    if remainder > 0 {
                        self.remainders.push((Reverse(remainder), at));
                    }
                    u64::try_from(part).unwrap_or(0)
                }
            };
        }
        let order =
            |a: &(Reverse<u128>, usize), b: &(Reverse<u128>, usize)| a.0.cmp(&b.0).then_with(|| first(a.1, b.1));
        let count = if self.weight_sum > 0 { left } else { 0 };
        for (_, at) in first_of(&mut self.remainders, count, order) {
            self.shares[*at] += 1;
        }
    }
}
