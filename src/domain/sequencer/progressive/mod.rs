//! The progressive order (FAIR_SHARE §10): a workload that is placed counts as usage of its owner before the next one is
//! chosen, as if it had run already.

mod charge;
mod dominant;
mod lists;
mod tariff;
mod tiers;

use std::sync::Arc;

pub use charge::{Account, Charge};
pub use tariff::Tariff;

use super::Workload;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::options::Order;
use crate::domain::slots::Usages;

/// Where owners stand before anything is placed.
pub trait Accounts {
    fn user(&self, member: Member) -> Account;

    fn project(&self, project: ProjectId) -> Account;

    /// The domain that the project is in; `None` of a project that nobody knows yet.
    fn domain(&self, project: ProjectId) -> (Option<Arc<str>>, Account);
}

/// A workload that was placed.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Its position in the input.
    pub at: u32,
    pub charge: Charge,
    /// The factor of its user once it is charged.
    pub factor_after: f64,
}

/// The first `most` of `workloads` by usage over weight. `charges` are theirs, one by one.
pub fn order(
    order: Order,
    workloads: &[Workload],
    charges: &[Charge],
    accounts: &dyn Accounts,
    most: usize,
) -> Vec<Turn> {
    let mut tiers = tiers::Tiers::new(order, lists::Lists::new(workloads, |w| w.owner), charges, accounts);
    std::iter::from_fn(|| tiers.turn()).take(most).collect()
}

/// The first `most` of `workloads` by dominant share. `requests` are theirs, one by one, as the usage of one second; `share`
/// tells the dominant share of a user who occupies so much more than now.
pub fn dominant_order(
    workloads: &[Workload],
    requests: &[Usages],
    share: impl Fn(UserId, &Usages) -> f64,
    most: usize,
) -> Vec<u32> {
    dominant::order(lists::Lists::new(workloads, |w| w.owner.user), requests, share, most)
}
