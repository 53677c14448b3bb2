//! The one equation of `min_share` (§3), solved exactly by a sweep over its sorted breakpoints.

use std::cmp::Ordering;

use super::exact::{apportion, cmp_products};
use super::options::Rule;

/// A child: weight, lower and upper limit.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub weight: u128,
    pub lower: u128,
    pub upper: u128,
}

/// The children's shares, and what was divided by weight among those between their limits.
pub(super) struct Solved {
    pub shares: Vec<u128>,
    pub divided: u128,
    /// Sum of the weights of those between their limits.
    pub weight_sum: u128,
    phases: Vec<Phase>,
}

impl Solved {
    pub fn by_weight(&self, at: usize) -> bool {
        self.phases[at] == Phase::Growing
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Still at its lower limit.
    AtLower,
    Growing,
    AtUpper,
}

/// Where a child begins or ends to grow: at x = `amount / weight`.
struct Breakpoint {
    /// Orders most breakpoints; close keys are settled exactly.
    key: f64,
    amount: u128,
    weight: u128,
    child: usize,
    starts: bool,
}

impl Breakpoint {
    fn new(amount: u128, weight: u128, child: usize, starts: bool) -> Self {
        Self { key: amount as f64 / weight as f64, amount, weight, child, starts }
    }

    fn order(&self, other: &Self) -> Ordering {
        /// Above three roundings in each of two keys.
        const DOUBT: f64 = 1e-15;
        let settled = (self.key - other.key).abs() > DOUBT * self.key.max(other.key);
        let order = if settled {
            self.key.total_cmp(&other.key)
        } else {
            cmp_products(self.amount, other.weight, other.amount, self.weight)
        };
        // A child starts before it stops.
        order.then_with(|| other.starts.cmp(&self.starts))
    }
}

/// Finds x with `sum min(u, max(l, w x)) = min(total, sum u)`, or with `l + w x` under `on_top`. The sum of the lower
/// limits is at most `total`. A child of weight 0 gets its lower limit only.
pub(super) fn solve(total: u128, members: &[Member], rule: Rule, first: impl Fn(usize, usize) -> Ordering) -> Solved {
    let scale = members.iter().fold(0, |gcd, m| greatest_common_divisor(gcd, m.weight)).max(1);
    let clipped = members.iter().map(|m| {
        let lower = m.lower.min(m.upper);
        let upper = if m.weight == 0 { lower } else { m.upper };
        Member { weight: m.weight / scale, lower, upper }
    });
    let base = |m: &Member| if rule == Rule::OnTop { m.lower } else { 0 };
    // Under `on_top` the lower limits are given beforehand, and what is above them starts to grow at x = 0.
    let given: Vec<u128> = clipped.clone().map(|m| base(&m)).collect();
    let growing: Vec<Member> =
        clipped.map(|m| Member { lower: m.lower - base(&m), upper: m.upper - base(&m), ..m }).collect();
    let left = given.iter().fold(total, |left, g| left.saturating_sub(*g));
    let mut solved = sweep(left, &growing, first);
    for (share, given) in solved.shares.iter_mut().zip(given) {
        *share += given;
    }
    solved.weight_sum = solved.weight_sum.saturating_mul(scale);
    solved
}

fn sweep(total: u128, members: &[Member], first: impl Fn(usize, usize) -> Ordering) -> Solved {
    let mut phases = Vec::with_capacity(members.len());
    let mut breakpoints = Vec::new();
    // What is fixed: limits of those who do not grow. What grows: the sum of weights.
    let (mut fixed, mut weights) = (0u128, 0u128);
    for (child, member) in members.iter().enumerate() {
        if member.upper == member.lower {
            phases.push(Phase::AtUpper);
            fixed += member.upper;
            continue;
        }
        breakpoints.push(Breakpoint::new(member.upper, member.weight, child, false));
        if member.lower > 0 {
            phases.push(Phase::AtLower);
            fixed += member.lower;
            breakpoints.push(Breakpoint::new(member.lower, member.weight, child, true));
        } else {
            phases.push(Phase::Growing);
            weights += member.weight;
        }
    }
    breakpoints.sort_unstable_by(Breakpoint::order);
    for point in breakpoints {
        let member = &members[point.child];
        let target = total.saturating_sub(fixed);
        if cmp_products(weights, point.amount, target, point.weight) != Ordering::Less {
            break;
        }
        if point.starts {
            phases[point.child] = Phase::Growing;
            fixed -= member.lower;
            weights += member.weight;
        } else {
            phases[point.child] = Phase::AtUpper;
            fixed += member.upper;
            weights -= member.weight;
        }
    }
    let divided = total.saturating_sub(fixed);
    let growing: Vec<usize> = (0..members.len()).filter(|at| phases[*at] == Phase::Growing).collect();
    let own: Vec<u128> = growing.iter().map(|at| members[*at].weight).collect();
    let mut shares: Vec<u128> =
        members.iter().zip(&phases).map(|(m, p)| if *p == Phase::AtLower { m.lower } else { m.upper }).collect();
    let parts = apportion(divided, &own, |a, b| first(growing[a], growing[b]));
    for (at, part) in growing.into_iter().zip(parts) {
        shares[at] = part;
    }
    Solved { shares, divided, weight_sum: weights, phases }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
