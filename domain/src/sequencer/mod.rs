//! Sequencers put pending workloads into the order in which they should start (FAIR_SHARE §9). A sequencer is one file
//! here and one line in [`SEQUENCERS`].
//!
//! A sequencer gives each workload a sort key, computed from the published state of the group ([`ShareLookup`]). Equal
//! keys are ordered by submission, then by id. Two other kinds of order exist:
//! - `turns`: queues hand out their workloads one by one, and every workload that is handed out counts for the next
//!   choice (`saturation` and `score`, DIVISION §5).
//! - `progressive`: the owner of a workload that is placed is charged for it before the next one is chosen
//!   (FAIR_SHARE §10).
//!
//! A sequencer's file has all of it: the keys of the plain order, the reasons that it gives, its progressive form if it has one,
//! and its name and sentence, which the API and the pages show. The sort keys also say where an owner stands; the ranks of a
//! group follow from factors under every sequencer. A sequencer may have a rule of its own for factors (`share_rule`).
//!
//! A sequencer does not decide whether a workload fits, and it starts nothing. It reads neither a clock nor the
//! database.
//!
//! Invariants:
//! - The result is always a permutation of the input (or the first part of one): no workload is dropped or invented.
//! - The same input gives the same order. [`OrderDecision`] can explain each neighbouring pair of it.

mod decision;
mod drf;
mod fairshare;
mod fifo;
mod lifo;
pub mod progressive;
pub(crate) mod saturation;
pub(crate) mod score;
mod slurm;
mod slurm_classic;
mod slurm_fair_tree;
mod ties;
pub(crate) mod turns;

use std::borrow::Cow;
use std::fmt;

use super::factor::Exponent;
use super::ids::{Member, ProjectId, UserId};
use super::options::FairshareOrder;
use super::share_tree::ShareRule;
use super::slots::SlotUsages;
use super::time::Timestamp;
use ties::WorkloadIds;

pub use decision::{OrderDecision, OwnerReason};
use progressive::ProgressiveSequence;
pub use turns::QueueClaims;

/// A pending workload, reduced to what an order needs.
#[derive(Clone, Debug)]
pub struct SequenceWorkload<'a> {
    pub id: Cow<'a, str>,
    pub owner: Member,
    pub submitted_at: Option<Timestamp>,
    pub priority: i32,
}

impl SequenceWorkload<'_> {
    /// A number that ascends with the time of submission. Workloads without a time come last.
    fn submission(&self) -> u64 {
        self.submitted_at.map_or(u64::MAX, |t| t.micros().unsigned_abs())
    }
}

/// The published state of a resource group, as far as sequencers read it.
pub trait ShareLookup {
    /// The exponent of a member. An unknown member has used nothing and comes first.
    fn exponent(&self, member: Member) -> Exponent;

    /// The exponents of the owners of `workloads`, one for each workload.
    fn exponents(&self, workloads: &[SequenceWorkload]) -> Vec<Exponent> {
        workloads.iter().map(|workload| self.exponent(workload.owner)).collect()
    }

    /// The exponents of the project's domain and of the project itself.
    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent);

    /// The dominant share of the user's running kernels in the group's capacity; 0 or more.
    fn dominant_share(&self, user: UserId) -> f64;

    /// The dominant share of a user who holds `more` in addition. `more` is the usage of one second.
    fn dominant_share_with(&self, user: UserId, more: &SlotUsages) -> f64;

    /// The tiers that `fairshare` compares.
    fn order(&self) -> FairshareOrder;
}

/// Sort keys by which the owner with the smallest exponent comes first.
fn keys_by_exponent(workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u64> {
    shares.exponents(workloads).into_iter().map(Exponent::sort_key).collect()
}

/// The decision between two workloads that are ordered by [`keys_by_exponent`]; `None` if their owners do not differ.
fn decide_by_exponent(
    one: &SequenceWorkload,
    other: &SequenceWorkload,
    shares: &dyn ShareLookup,
    reason: &'static OwnerReason,
) -> Option<OrderDecision> {
    let differs = shares.exponent(one.owner) != shares.exponent(other.owner);
    differs.then_some(OrderDecision::Owner(reason))
}

/// A rule that orders workloads.
trait SequenceRule: Sync {
    /// The value of the group's `scheduler`.
    fn name(&self) -> &'static str;

    /// The order in one sentence.
    fn summary(&self) -> &'static str;

    /// The message of the answer about the order.
    fn success_message(&self) -> &'static str;

    /// Ascending sort keys, one for each workload. Equal keys are ordered by submission, then by id.
    fn keys(&self, workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u64>;

    /// The property of their owners that decides between two workloads; `None` if the owners do not differ.
    fn decides(&self, _: &SequenceWorkload, _: &SequenceWorkload, _: &dyn ShareLookup) -> Option<OrderDecision> {
        None
    }

    /// True if workloads with equal keys start in reverse order.
    fn latest_first(&self) -> bool {
        false
    }

    /// The rule by which factors and ranks follow from the tree of the group; `None` if each share follows from the owner's
    /// own exponent (FAIR_SHARE §7).
    fn share_rule(&self) -> Option<&'static dyn ShareRule> {
        None
    }

    /// The decay without which the shares are not what the order stands for; `None` if any decay will do.
    fn expected_decay(&self) -> Option<&'static str> {
        None
    }

    /// True if queues take turns. The keys then order the workloads of each queue.
    fn takes_turns(&self) -> bool {
        false
    }

    /// The progressive form of the order, in which every placed workload counts; `None` if the sequencer has none
    /// (FAIR_SHARE §10).
    fn progressive(&self) -> Option<&dyn ProgressiveSequence> {
        None
    }

    /// The rule by which queues take turns; `None` if they do not.
    fn turns<'a>(&self, _: &'a QueueClaims<'a>) -> Option<Box<dyn turns::TurnRule + 'a>> {
        None
    }
}

static SEQUENCERS: &[&dyn SequenceRule] = &[
    &fifo::FifoSequencer,
    &lifo::LifoSequencer,
    &drf::DrfSequencer,
    &fairshare::FairShare,
    &saturation::SaturationSequencer,
    &score::ScoreSequencer,
    &slurm_fair_tree::SLURM_FAIR_TREE,
    &slurm_classic::SLURM_CLASSIC,
];

/// A registered sequencer.
#[derive(Clone, Copy)]
pub struct Sequencer(&'static dyn SequenceRule);

impl Sequencer {
    /// The sequencer of a group that names none.
    pub const DEFAULT_NAME: &'static str = "fairshare";

    pub fn by_name(name: &str) -> Option<Self> {
        SEQUENCERS.iter().find(|s| s.name() == name).map(|s| Self(*s))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        SEQUENCERS.iter().map(|s| s.name())
    }

    /// All sequencers, in the order of documents.
    pub fn all() -> impl Iterator<Item = Self> {
        SEQUENCERS.iter().map(|sequencer| Self(*sequencer))
    }

    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub fn summary(self) -> &'static str {
        self.0.summary()
    }

    pub fn success_message(self) -> &'static str {
        self.0.success_message()
    }

    /// The positions of `workloads` in the order in which they should start; always a permutation.
    pub fn order(self, workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u32> {
        by_keys(self.0.keys(workloads, shares), workloads, self.0.latest_first())
    }

    /// True if of equal workloads the one that was submitted last starts first.
    pub fn latest_first(self) -> bool {
        self.0.latest_first()
    }

    /// The reason for each workload of a plain `order` why it does not come before its predecessor. `queues` has the
    /// queue of each workload, where queues take turns.
    pub fn decisions(
        self,
        order: &[u32],
        workloads: &[SequenceWorkload],
        shares: &dyn ShareLookup,
        queues: Option<&[usize]>,
    ) -> Vec<OrderDecision> {
        let between = |pair: &[u32]| {
            let (before, next) = (pair[0] as usize, pair[1] as usize);
            let (one, other) = (&workloads[before], &workloads[next]);
            match queues {
                Some(queues) if queues[before] != queues[next] => OrderDecision::Queue,
                Some(_) if one.priority != other.priority => OrderDecision::Priority,
                _ => self.0.decides(one, other, shares).unwrap_or_else(|| decision::tie_reason(one, other)),
            }
        };
        let first = order.first().map(|_| OrderDecision::First);
        first.into_iter().chain(order.windows(2).map(between)).collect()
    }

    /// The progressive form of the order; `None` if the sequencer has none.
    pub fn progressive(self) -> Option<&'static dyn ProgressiveSequence> {
        self.0.progressive()
    }

    /// The rule by which factors and ranks follow from the tree of the group; `None` if each share follows from the owner's
    /// own exponent (FAIR_SHARE §7).
    pub fn share_rule(self) -> Option<&'static dyn ShareRule> {
        self.0.share_rule()
    }

    /// The decay without which the shares are not what the order stands for; `None` if any decay will do.
    pub fn expected_decay(self) -> Option<&'static str> {
        self.0.expected_decay()
    }

    /// True if the order compares usage by weight.
    pub fn compares_usage(self) -> bool {
        self.progressive().is_some_and(ProgressiveSequence::compares_usage)
    }
}

impl Sequencer {
    /// True if the order depends on queues. Callers then use [`Self::order_by_turns`].
    pub fn takes_turns(self) -> bool {
        self.0.takes_turns()
    }

    /// [`Self::order`] for sequencers in which queues take turns.
    pub fn order_by_turns(
        self,
        workloads: &[SequenceWorkload],
        shares: &dyn ShareLookup,
        claims: &QueueClaims,
    ) -> Vec<u32> {
        let order = self.order(workloads, shares);
        match self.0.turns(claims) {
            Some(mut rule) => turns::hand_out(order, claims, &mut *rule),
            None => order,
        }
    }
}

impl fmt::Debug for Sequencer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Positions by ascending key. Equal keys are ordered by submission, then by id, or in the reverse of that.
fn by_keys(keys: Vec<u64>, workloads: &[SequenceWorkload], latest_first: bool) -> Vec<u32> {
    // Key and submission are one number, because comparing two numbers costs more than the sort.
    let number = |(key, workload): (u64, &SequenceWorkload)| {
        let submitted = workload.submission();
        u128::from(key) << 64 | u128::from(if latest_first { !submitted } else { submitted })
    };
    sorted_positions(keys.into_iter().zip(workloads).map(number), workloads, latest_first)
}

/// Positions by submission, then id.
fn by_submission(workloads: &[SequenceWorkload]) -> Vec<u32> {
    sorted_positions(workloads.iter().map(SequenceWorkload::submission), workloads, false)
}

/// Positions by ascending number. Equal numbers are ordered by id, or in the reverse of that.
fn sorted_positions<N: Ord + Copy>(
    numbers: impl Iterator<Item = N>,
    workloads: &[SequenceWorkload],
    latest_first: bool,
) -> Vec<u32> {
    let mut order: Vec<(N, u32)> = numbers.zip(0u32..).collect();
    order.sort_unstable_by_key(|(number, _)| *number);
    let ids = WorkloadIds::new(workloads);
    for equals in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
        ids.sort(equals);
        if latest_first {
            equals.reverse();
        }
    }
    order.into_iter().map(|(_, at)| at).collect()
}
