//! The progressive order (FAIR_SHARE §10): a workload that is placed counts as usage of its owner before the next one is
//! chosen, as if it had run already.

mod accounts;
mod charge;
mod decisions;
mod dominant;
mod flat;
mod heap;
mod lists;
mod tariff;
mod tiers;

pub use accounts::{Accounts, Books, GroupAccounts, Homes};
pub use charge::{Account, Charge};
pub use decisions::{decisions, dominant_decisions};
pub use lists::ByOwner;
pub use tariff::Tariff;

use super::Workload;
use crate::ids::{Member, UserId};
use crate::options::Order;
use crate::slots::Usages;

/// A workload that was placed.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Its position in the input.
    pub at: u32,
    /// The factor of its user once it is charged.
    pub factor_after: f64,
}

/// Pending workloads of users.
pub fn by_owner(workloads: &[Workload]) -> ByOwner<Member> {
    ByOwner::new(workloads, |workload| workload.owner)
}

/// The first `most` of `workloads` by usage over weight. `charges` are theirs, one by one.
pub fn order(
    order: Order,
    workloads: &ByOwner<Member>,
    charges: &[Charge],
    accounts: &dyn Accounts,
    most: usize,
) -> Vec<Turn> {
    match order {
        Order::Flat => flat::order(workloads, charges, accounts, most),
        Order::Tiered => tiers::order(lists::Lists::new(workloads, |at| charges[at]), accounts, most),
    }
}

/// The first `most` of `workloads` by dominant share. `requests` are theirs, one by one, as the usage of one second; `share`
/// tells the dominant share of a user who occupies so much more than now.
pub fn dominant_order(
    workloads: &[Workload],
    requests: &[Usages],
    share: impl Fn(UserId, &Usages) -> f64,
    most: usize,
) -> Vec<u32> {
    let workloads = ByOwner::new(workloads, |workload| workload.owner.user);
    dominant::order(lists::Lists::new(&workloads, |_| ()), requests, share, most)
}
