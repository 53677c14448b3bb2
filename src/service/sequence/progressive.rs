//! The progressive order of pending workloads (FAIR_SHARE §10).

use super::{Charged, Ordered, PendingWorkload, PlacedWorkload, workloads};
use crate::domain::ids::Member;
use crate::domain::maps::FastMap;
use crate::domain::parallel;
use crate::domain::sequencer::progressive::{self, ChargeRate, DomainByProject, GroupAccounts};
use crate::domain::sequencer::{ProgressiveMetric, ShareLookup, Workload};
use crate::domain::slots::{Amounts, Usages};
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::group::published::facts::GroupSnapshotData;

/// The request of a workload.
struct ResourceRequest {
    slots: Option<Box<Amounts>>,
    seconds: Option<u32>,
}

/// The workloads, and the request of each.
fn with_wishes(pending: Vec<PendingWorkload<'_>>, owners: Vec<Member>) -> (Vec<Workload<'_>>, Vec<ResourceRequest>) {
    let mut wishes = Vec::with_capacity(pending.len());
    let workloads = workloads(pending, owners, |w| {
        wishes.push(ResourceRequest { slots: w.requested_slots.take(), seconds: w.expected_seconds });
    });
    (workloads, wishes)
}

/// The input of a progressive order, and the wanted parts of its answer.
pub(super) struct ProgressiveRequest<'a, 'p> {
    pub workloads: Vec<PendingWorkload<'a>>,
    /// The owner of each workload.
    pub owners: Vec<Member>,
    /// Workloads that have started but are not among the kernels yet.
    pub placed: Vec<(Member, &'p PlacedWorkload<'a>)>,
    pub homes: DomainByProject,
    pub most: usize,
    /// True if the answer contains for each workload the reason why it waits.
    pub explain: bool,
}

impl<'a> ProgressiveRequest<'a, '_> {
    /// The workloads, the positions of the first ones, and their charges.
    pub fn order(self, facts: &GroupSnapshotData, growing: ProgressiveMetric, now: Timestamp) -> Ordered<'a> {
        match growing {
            ProgressiveMetric::Usage => self.by_usage(facts, now),
            ProgressiveMetric::DominantShare => self.by_dominant_share(facts),
        }
    }

    fn by_usage(self, facts: &GroupSnapshotData, now: Timestamp) -> Ordered<'a> {
        let Self { workloads: pending, owners, placed, homes, most, explain } = self;
        let (workloads, wishes) = with_wishes(pending, owners);
        let by_owner = progressive::by_owner(&workloads);
        let mut accounts = GroupAccounts::new(facts, &homes, by_owner.owners(), now);
        for (owner, entry) in placed {
            accounts.place(owner, entry.requested_slots.as_deref(), entry.expected_seconds);
        }
        let charges = parallel::each(wishes.len(), |at| {
            let ResourceRequest { slots, seconds } = &wishes[at];
            accounts.charge(by_owner.owner_of(at), slots.as_deref(), *seconds)
        });
        let turns = progressive::order(facts.options.order, &by_owner, &charges, &accounts, most);
        let charged = parallel::map(&turns, |turn| Charged {
            charge: charges[turn.at as usize].to_f64(),
            factor_after: turn.factor_after,
        });
        let order: Vec<u32> = turns.into_iter().map(|turn| turn.at).collect();
        let mut decisions = Vec::new();
        if explain {
            decisions = progressive::decisions(facts.options.order, &workloads, &charges, &accounts, &order);
        }
        Ordered { workloads, order, charged, decisions }
    }

    /// The order by dominant share. Usage costs nothing here; only the slots that are held count.
    fn by_dominant_share(self, facts: &GroupSnapshotData) -> Ordered<'a> {
        let Self { workloads: pending, owners, placed, most, explain, .. } = self;
        let tariff = ChargeRate::new(&facts.today, &facts.options);
        let second = MICROS_PER_SECOND.unsigned_abs();
        let request = |slots: &Option<Box<_>>| tariff.asked(slots.as_deref()).for_micros(second);
        let mut started = FastMap::<_, Usages>::default();
        for (owner, entry) in placed {
            started.entry(owner.user).or_default().add(&request(&entry.requested_slots));
        }
        let (workloads, wishes) = with_wishes(pending, owners);
        let requests: Vec<Usages> = wishes.iter().map(|wish| request(&wish.slots)).collect();
        let share = |user, more: &Usages| match started.get(&user) {
            None => facts.dominant_share_with(user, more),
            Some(started) => {
                let mut sum = started.clone();
                sum.add(more);
                facts.dominant_share_with(user, &sum)
            }
        };
        let order = progressive::dominant_order(&workloads, &requests, share, most);
        let mut decisions = Vec::new();
        if explain {
            decisions = progressive::dominant_decisions(&workloads, &requests, share, &order);
        }
        Ordered { workloads, order, charged: Vec::new(), decisions }
    }
}
