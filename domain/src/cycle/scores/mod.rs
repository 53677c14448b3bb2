//! Node scores choose among the agents that have room for a member and pass the predicates (CYCLE §4). A score is one
//! file here and one line in [`SCORES`].

mod balanced;
mod least_requested;
mod most_requested;
mod same_domain;
mod untainted;

pub use super::request::options::SAME_DOMAIN;
use super::request::workloads::CycleAgent;
use super::shapes::MemberKind;
use crate::decimal::Amount;
use crate::division::exact::mul_div;
pub use same_domain::DomainQuestion;

/// A score of 1, in units of 10^-12.
pub const FULL_SCORE: u128 = Amount::ONE.units();
/// Parts of a total are summed with 30 places, so that the 12 places of a score are those of the exact sum.
const PART_UNIT: u128 = 10u128.pow(30);
const PART_OF_SCORE: u128 = PART_UNIT / FULL_SCORE;

/// A member on an agent, with the amounts of the agent.
pub struct MemberOnAgent<'s> {
    pub member: &'s MemberKind<'s>,
    /// Absent where only totals count.
    pub agent: Option<&'s CycleAgent>,
    pub free: &'s [i128],
    pub total: &'s [u128],
}

impl MemberOnAgent<'_> {
    /// The used part of a slot with the member included, 0 to 1, in units of 10^-30.
    fn used(&self, column: usize) -> u128 {
        let asked = self.member.request.iter().find(|(at, _)| *at == column).map_or(0, |(_, units)| *units);
        let held = i128::try_from(self.total[column]).unwrap_or(i128::MAX).saturating_sub(self.free[column]);
        let used = u128::try_from(held).unwrap_or(0).saturating_add(asked);
        mul_div(used.min(self.total[column]), PART_UNIT, self.total[column]).0
    }

    /// The mean of the used parts over the slots that the member asks for, in units of 10^-30; `None` if it asks for
    /// nothing. Each part is rounded down, so the mean may be too small by one unit.
    fn mean_used(&self) -> Option<u128> {
        let columns = self.member.request.len() as u128;
        let sum: u128 = self.member.request.iter().map(|(column, _)| self.used(*column)).sum();
        (columns > 0).then(|| sum.div_ceil(columns))
    }
}

/// Cuts a part to the 12 places of a score. A part may be too small by `slack` units, which must not show where the exact
/// part has no more than 12 places.
fn cut(part: u128, slack: u128) -> u128 {
    ((part + slack) / PART_OF_SCORE).min(FULL_SCORE)
}

/// A score of agents, 0 to 1.
pub trait NodeScore: Sync {
    fn name(&self) -> &'static str;

    /// The score in units of 10^-12. A score that depends on other agents scores 0 here.
    fn score(&self, seat: &MemberOnAgent) -> u128;
}

/// All scores. A new one is a new file and a line here.
pub static SCORES: &[&dyn NodeScore] = &[
    &least_requested::LeastRequestedScore,
    &most_requested::MostRequestedScore,
    &balanced::BalancedScore,
    &same_domain::SameDomainScore,
    &untainted::UntaintedScore,
];

pub fn names() -> impl Iterator<Item = &'static str> {
    SCORES.iter().map(|score| score.name())
}

/// The weighted sum of all scores that depend on the agent alone, in units of 10^-24.
pub fn weighted(weights: &[Amount], seat: &MemberOnAgent) -> u128 {
    let scores = SCORES.iter().zip(weights).filter(|(_, weight)| !weight.is_zero());
    scores.map(|(score, weight)| score.score(seat) * weight.units()).sum()
}
