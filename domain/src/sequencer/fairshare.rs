//! `fairshare`: historical fair share (FAIR_SHARE §9).

use super::progressive::{
    GroupAccounts, PlacementCharge, ProgressiveInput, ProgressiveOrder, ProgressiveSequence, by_owner, decisions, order,
};
use super::{OrderDecision, OwnerReason, SequenceRule, SequenceWorkload, ShareLookup, keys_by_exponent};
use crate::factor::Exponent;
use crate::ids::Member;
use crate::maps::FastMap;
use crate::options::FairshareOrder;
use crate::parallel;

/// The reasons of a plain order: the domain, the project, the user.
static TIERS: [OwnerReason; 3] = [
    OwnerReason { name: "domain", sentence: "The domain of the one ahead has used less for its weight." },
    OwnerReason { name: "project", sentence: "The project of the one ahead has used less for its weight." },
    OwnerReason { name: "user", sentence: "The user of the one ahead has used less for their weight." },
];
/// The reasons of a progressive order. They also count the workloads that come earlier in the order.
static CHARGED_TIERS: [OwnerReason; 3] = [
    OwnerReason {
        name: "domain",
        sentence: "At this point of the order, the domain of the one ahead has used less for its weight. What its kernels and \
                   its workloads further ahead will use counts as used.",
    },
    OwnerReason {
        name: "project",
        sentence: "At this point of the order, the project of the one ahead has used less for its weight. What its kernels \
                   and its workloads further ahead will use counts as used.",
    },
    OwnerReason {
        name: "user",
        sentence: "At this point of the order, the usage that counts for the user of the one ahead is smaller for their \
                   weight. What their kernels and their workloads further ahead will use counts, and half of what their \
                   next one will use, up to as much as they have without it.",
    },
];

/// Historical fair share: by ascending exponent of (user, project), which is by descending factor. With `order: tiered_positions`
/// the exponents of the domain and of the project are compared before that of the user.
pub(super) struct FairShare;

impl SequenceRule for FairShare {
    fn name(&self) -> &'static str {
        "fairshare"
    }

    fn summary(&self) -> &'static str {
        "The user with the least usage for the weight starts first."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced using hierarchical Fair Share algorithm"
    }

    fn keys(&self, workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u64> {
        match shares.order() {
            FairshareOrder::Flat => keys_by_exponent(workloads, shares),
            FairshareOrder::Tiered => tiered_positions(workloads, shares),
        }
    }

    fn decides(
        &self,
        one: &SequenceWorkload,
        other: &SequenceWorkload,
        shares: &dyn ShareLookup,
    ) -> Option<OrderDecision> {
        let exponents = |workload: &SequenceWorkload| {
            let outer = match shares.order() {
                FairshareOrder::Flat => (Exponent::ZERO, Exponent::ZERO),
                FairshareOrder::Tiered => shares.outer_exponents(workload.owner.project),
            };
            [outer.0, outer.1, shares.exponent(workload.owner)]
        };
        let pairs = exponents(one).into_iter().zip(exponents(other)).zip(&TIERS);
        pairs.into_iter().find(|((a, b), _)| a != b).map(|(_, tier)| OrderDecision::Owner(tier))
    }

    fn progressive(&self) -> Option<&dyn ProgressiveSequence> {
        Some(self)
    }
}

/// The owner of a workload that is placed is charged for it, as if it had used that already.
impl ProgressiveSequence for FairShare {
    fn compares_usage(&self) -> bool {
        true
    }

    fn order(&self, input: &ProgressiveInput) -> ProgressiveOrder {
        let by_owner = by_owner(input.workloads);
        let mut accounts = GroupAccounts::new(input.group, input.domains, by_owner.owners(), input.now);
        for (owner, placed) in input.placed {
            accounts.place(*owner, placed.slots, placed.seconds);
        }
        let charges = parallel::map_indices(input.requests.len(), |at| {
            let request = &input.requests[at];
            accounts.charge(by_owner.owner_of(at), request.slots, request.seconds)
        });
        let tiers = input.group.options().order;
        let turns = order(tiers, &by_owner, &charges, &accounts, input.most);
        let charged = parallel::map_items(&turns, |turn| PlacementCharge {
            charge: charges[turn.at as usize].to_f64(),
            factor_after: turn.factor_after,
        });
        let order: Vec<u32> = turns.into_iter().map(|turn| turn.at).collect();
        let decisions = if input.explain {
            decisions(CHARGED_TIERS.each_ref(), tiers, input.workloads, &charges, &accounts, &order)
        } else {
            Vec::new()
        };
        ProgressiveOrder { order, charged, decisions }
    }
}

/// The position of each owner's three exponents among those of all owners.
fn tiered_positions(workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u64> {
    let mut places: FastMap<Member, u64> = workloads.iter().map(|w| (w.owner, 0)).collect();
    let exponents = |member: &Member| {
        let (domain, project) = shares.outer_exponents(member.project);
        [domain, project, shares.exponent(*member)].map(Exponent::sort_key)
    };
    let mut owners: Vec<([u64; 3], Member)> = places.keys().map(|member| (exponents(member), *member)).collect();
    owners.sort_unstable();
    for (place, equals) in (0..).zip(owners.chunk_by(|a, b| a.0 == b.0)) {
        for (_, member) in equals {
            places.insert(*member, place);
        }
    }
    workloads.iter().map(|w| places.get(&w.owner).copied().unwrap_or(0)).collect()
}
