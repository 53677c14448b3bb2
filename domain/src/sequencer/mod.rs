//! The order in which pending workloads start (FAIR_SHARE §9). A sequencer is one file here and one line in
//! [`SEQUENCERS`].

mod decision;
mod drf;
mod fairshare;
mod fifo;
mod lifo;
pub mod progressive;
mod saturation;
mod score;
mod ties;
mod turns;

use std::borrow::Cow;
use std::fmt;

use super::factor::Exponent;
use super::ids::{Member, ProjectId, UserId};
use super::options::Order;
use super::slots::Usages;
use super::time::Timestamp;
use ties::Ids;

pub use decision::Decision;
pub use turns::QueueClaims;

/// One pending workload, as far as an order needs it.
#[derive(Clone, Debug)]
pub struct Workload<'a> {
    pub id: Cow<'a, str>,
    pub owner: Member,
    pub submitted_at: Option<Timestamp>,
    pub priority: i32,
}

impl Workload<'_> {
    /// Ascends with the time of submission; those without one come last.
    fn submission(&self) -> u64 {
        self.submitted_at.map_or(u64::MAX, |t| t.micros().unsigned_abs())
    }
}

/// What sequencers read of the published state of a resource group.
pub trait Standings {
    /// An unknown member has used nothing and comes first.
    fn exponent(&self, member: Member) -> Exponent;

    /// The exponents of all owners of `workloads`, which are those that are put in order.
    fn exponents(&self, workloads: &[Workload]) -> Vec<Exponent> {
        workloads.iter().map(|workload| self.exponent(workload.owner)).collect()
    }

    /// The exponents of the project's domain and of the project itself.
    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent);

    /// Dominant share of what the user occupies now over the group's capacity, in 0..
    fn dominant_share(&self, user: UserId) -> f64;

    /// The same of a user who occupies so much more than now, as the usage of one second.
    fn dominant_share_with(&self, user: UserId, more: &Usages) -> f64;

    /// What `fairshare` compares.
    fn order(&self) -> Order;
}

/// What a progressive order compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growing {
    /// Usage over weight.
    Usage,
    /// The dominant share of what is occupied.
    DominantShare,
}

/// A policy that orders workloads.
trait Sequence: Sync {
    /// The value of the group's `scheduler`.
    fn name(&self) -> &'static str;

    /// What the answer says about the order.
    fn success_message(&self) -> &'static str;

    /// Ascending sort keys, one for each workload; equal keys keep submission order, then id.
    fn keys(&self, workloads: &[Workload], shares: &dyn Standings) -> Vec<u64>;

    /// What of their owners decides between two workloads; `None`: nothing does.
    fn decides(&self, _: &Workload, _: &Workload, _: &dyn Standings) -> Option<Decision> {
        None
    }

    /// Whether equal keys start in reverse.
    fn latest_first(&self) -> bool {
        false
    }

    /// Whether queues take turns; each queue's own workloads keep the order of their keys.
    fn takes_turns(&self) -> bool {
        false
    }

    /// What grows by each workload that is placed, if the policy can count it (FAIR_SHARE §10).
    fn grows(&self) -> Option<Growing> {
        None
    }

    /// Which queue gives its next workload first.
    fn turns<'a>(&self, _: &'a QueueClaims<'a>) -> Option<Box<dyn turns::Turns + 'a>> {
        None
    }
}

static SEQUENCERS: &[&dyn Sequence] =
    &[&fifo::Fifo, &lifo::Lifo, &drf::Drf, &fairshare::FairShare, &saturation::Saturation, &score::Score];

/// A registered sequencer.
#[derive(Clone, Copy)]
pub struct Sequencer(&'static dyn Sequence);

impl Sequencer {
    pub fn by_name(name: &str) -> Option<Self> {
        SEQUENCERS.iter().find(|s| s.name() == name).map(|s| Self(*s))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        SEQUENCERS.iter().map(|s| s.name())
    }

    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub fn success_message(self) -> &'static str {
        self.0.success_message()
    }

    /// The positions of `workloads` in the order in which they should start: a permutation, always.
    pub fn order(self, workloads: &[Workload], shares: &dyn Standings) -> Vec<u32> {
        by_keys(self.0.keys(workloads, shares), workloads, self.0.latest_first())
    }

    /// Whether of equals the one that was submitted last starts first.
    pub fn latest_first(self) -> bool {
        self.0.latest_first()
    }

    /// Why each workload of a plain `order` does not come before the one before it; `queues` are theirs, where queues take
    /// turns.
    pub fn decisions(
        self,
        order: &[u32],
        workloads: &[Workload],
        shares: &dyn Standings,
        queues: Option<&[usize]>,
    ) -> Vec<Decision> {
        let between = |pair: &[u32]| {
            let (before, next) = (pair[0] as usize, pair[1] as usize);
            let (one, other) = (&workloads[before], &workloads[next]);
            match queues {
                Some(queues) if queues[before] != queues[next] => Decision::Queue,
                Some(_) if one.priority != other.priority => Decision::Priority,
                _ => self.0.decides(one, other, shares).unwrap_or_else(|| decision::tie(one, other)),
            }
        };
        let first = order.first().map(|_| Decision::First);
        first.into_iter().chain(order.windows(2).map(between)).collect()
    }

    /// What a progressive order of this policy compares; `None`: it has none.
    pub fn grows(self) -> Option<Growing> {
        self.0.grows()
    }
}

impl Sequencer {
    /// Whether the order depends on queues, so that [`Self::order_by_turns`] is the one to ask.
    pub fn takes_turns(self) -> bool {
        self.0.takes_turns()
    }

    /// [`Self::order`] where queues take turns.
    pub fn order_by_turns(self, workloads: &[Workload], shares: &dyn Standings, claims: &QueueClaims) -> Vec<u32> {
        let order = self.order(workloads, shares);
        match self.0.turns(claims) {
            Some(mut rule) => turns::take(order, claims, &mut *rule),
            None => order,
        }
    }
}

impl fmt::Debug for Sequencer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Positions by ascending key; equal keys by submission, then id, or in the reverse of that.
fn by_keys(keys: Vec<u64>, workloads: &[Workload], latest_first: bool) -> Vec<u32> {
    // Key and submission as one number, because comparing two costs more than the sort.
    let number = |(key, workload): (u64, &Workload)| {
        let submitted = workload.submission();
        u128::from(key) << 64 | u128::from(if latest_first { !submitted } else { submitted })
    };
    sorted(keys.into_iter().zip(workloads).map(number), workloads, latest_first)
}

/// Positions by submission, then id.
fn by_submission(workloads: &[Workload]) -> Vec<u32> {
    sorted(workloads.iter().map(Workload::submission), workloads, false)
}

/// Positions by ascending number; equal numbers by id, or in the reverse of that.
fn sorted<N: Ord + Copy>(numbers: impl Iterator<Item = N>, workloads: &[Workload], latest_first: bool) -> Vec<u32> {
    let mut order: Vec<(N, u32)> = numbers.zip(0u32..).collect();
    order.sort_unstable_by_key(|(number, _)| *number);
    let ids = Ids::new(workloads);
    for equals in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
        ids.sort(equals);
        if latest_first {
            equals.reverse();
        }
    }
    order.into_iter().map(|(_, at)| at).collect()
}
