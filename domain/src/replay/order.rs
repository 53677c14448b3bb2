//! The order of pending workloads in a group without a server, as a server with the same policy would return it.

use super::group::Group;
use super::policy::Policy;
use crate::sequencer::progressive::{self, Charge, ChargeRate, DomainByProject, GroupAccounts, GroupUsage};
use crate::sequencer::{ProgressiveMetric, ShareLookup, Workload};
use crate::slots::{Amounts, Usages};
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// The request of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub slots: &'a Amounts,
    /// The runtime that its user announced.
    pub told_seconds: Option<u32>,
}

impl Group {
    /// The positions of the first `most` workloads in the order. `requests` has the request of each workload.
    pub fn order(
        &self,
        policy: &Policy,
        workloads: &[Workload],
        requests: &[Request],
        now: Timestamp,
        most: usize,
    ) -> Vec<u32> {
        match policy.growing() {
            None => {
                let mut order = policy.sequencer.order(workloads, self);
                order.truncate(most);
                order
            }
            Some(ProgressiveMetric::Usage) => self.by_usage(workloads, requests, now, most),
            Some(ProgressiveMetric::DominantShare) => self.by_dominant_share(workloads, requests, most),
        }
    }

    fn by_usage(&self, workloads: &[Workload], requests: &[Request], now: Timestamp, most: usize) -> Vec<u32> {
        let workloads = progressive::by_owner(workloads);
        let homes = DomainByProject::default();
        let accounts = GroupAccounts::new(self, &homes, workloads.owners(), now);
        let charge = |(at, request): (usize, &Request)| {
            accounts.charge(workloads.owner_of(at), Some(request.slots), request.told_seconds)
        };
        let charges: Vec<Charge> = requests.iter().enumerate().map(charge).collect();
        let turns = progressive::order(self.options().order, &workloads, &charges, &accounts, most);
        turns.into_iter().map(|turn| turn.at).collect()
    }

    fn by_dominant_share(&self, workloads: &[Workload], requests: &[Request], most: usize) -> Vec<u32> {
        let tariff = ChargeRate::new(self.today(), self.options());
        let second = MICROS_PER_SECOND.unsigned_abs();
        let requests: Vec<Usages> =
            requests.iter().map(|request| tariff.asked(Some(request.slots)).for_micros(second)).collect();
        let share = |user, more: &Usages| self.dominant_share_with(user, more);
        progressive::dominant_order(workloads, &requests, share, most)
    }
}
