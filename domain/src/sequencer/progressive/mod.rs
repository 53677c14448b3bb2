//! The progressive order (FAIR_SHARE §10): a placed workload counts as usage of its owner before the next one is
//! chosen, as if it had already run.
//!
//! The problem: a plain order compares only recorded usage, so one owner with many pending workloads gets all of the
//! next places until the next run records something. In a progressive order the owner is charged for each workload when
//! it is placed.
//!
//! A sequencer with a progressive order implements [`ProgressiveSequence`] (`form`) in its own file, with the parts that are here.
//! `accounts` gives every owner an [`UsageAccount`]: recorded usage, plus charges for what running kernels have used since
//! and will still use. `tariff` converts slots and an expected runtime into a [`UsageCharge`]. `flat` and `tiers` choose the
//! next workload by usage / weight (`fairshare`); `dominant` chooses it by dominant share (`drf`). `decisions` repeats
//! an order to explain it.
//!
//! Nothing here is stored, and no runtime is predicted here: expected runtimes come from `run_times`, unrecorded usage
//! from `outstanding`.
//!
//! Invariants:
//! - Charges are integers, so the sum of an account does not depend on the order in which workloads were charged.
//! - An owner gives its own workloads by priority, then submission, then id; no order changes that.

mod accounts;
mod charge;
mod charge_rate;
mod decisions;
mod dominant;
mod flat;
mod form;
mod heap;
mod lists;
mod tiers;

pub use accounts::{DomainByProject, GroupAccounts, GroupUsage, UsageAccounts};
pub use charge::{UsageAccount, UsageCharge};
pub use charge_rate::ChargeRate;
pub use decisions::{decisions, dominant_decisions};
pub use form::{
    PlacementCharge, ProgressiveGroup, ProgressiveInput, ProgressiveOrder, ProgressiveSequence, ResourceRequest,
};
pub use lists::ByOwner;

use super::SequenceWorkload;
use crate::ids::{Member, UserId};
use crate::options::FairshareOrder;
use crate::slots::SlotUsages;

/// A placed workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadTurn {
    /// Its position in the input.
    pub at: u32,
    /// The factor of its user after the charge.
    pub factor_after: f64,
}

/// The pending workloads by user.
pub fn by_owner(workloads: &[SequenceWorkload]) -> ByOwner<Member> {
    ByOwner::new(workloads, |workload| workload.owner)
}

/// The first `most` of `workloads` by usage / weight. `charges` has the charge of each workload.
pub fn order(
    order: FairshareOrder,
    workloads: &ByOwner<Member>,
    charges: &[UsageCharge],
    accounts: &dyn UsageAccounts,
    most: usize,
) -> Vec<WorkloadTurn> {
    match order {
        FairshareOrder::Flat => flat::order(workloads, charges, accounts, most),
        FairshareOrder::Tiered => tiers::order(lists::OwnerLists::new(workloads, |at| charges[at]), accounts, most),
    }
}

/// The first `most` of `workloads` by dominant share. `requests` has the request of each workload, as the usage of one
/// second. `share` returns the dominant share of a user who holds more than now.
pub fn dominant_order(
    workloads: &[SequenceWorkload],
    requests: &[SlotUsages],
    share: impl Fn(UserId, &SlotUsages) -> f64,
    most: usize,
) -> Vec<u32> {
    let workloads = ByOwner::new(workloads, |workload| workload.owner.user);
    dominant::order(lists::OwnerLists::new(&workloads, |_| ()), requests, share, most)
}
