//! `fairshare`: historical fair share (FAIR_SHARE §9).

use super::{Decision, ProgressiveMetric, Sequence, ShareLookup, Workload};
use crate::factor::Exponent;
use crate::ids::Member;
use crate::maps::FastMap;
use crate::options::Order;

/// Historical fair share: by ascending exponent of (user, project), which is by descending factor. With `order: tiered`
/// the exponents of the domain and of the project are compared before that of the user.
pub(super) struct FairShare;

impl Sequence for FairShare {
    fn name(&self) -> &'static str {
        "fairshare"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced using hierarchical Fair Share algorithm"
    }

    fn keys(&self, workloads: &[Workload], shares: &dyn ShareLookup) -> Vec<u64> {
        match shares.order() {
            Order::Flat => shares.exponents(workloads).into_iter().map(Exponent::sort_key).collect(),
            Order::Tiered => tiered(workloads, shares),
        }
    }

    fn decides(&self, one: &Workload, other: &Workload, shares: &dyn ShareLookup) -> Option<Decision> {
        let exponents = |workload: &Workload| {
            let outer = match shares.order() {
                Order::Flat => (Exponent::ZERO, Exponent::ZERO),
                Order::Tiered => shares.outer_exponents(workload.owner.project),
            };
            [outer.0, outer.1, shares.exponent(workload.owner)]
        };
        let tiers = [Decision::Domain, Decision::Project, Decision::User];
        let pairs = exponents(one).into_iter().zip(exponents(other)).zip(tiers);
        pairs.into_iter().find(|((a, b), _)| a != b).map(|(_, tier)| tier)
    }

    fn grows(&self) -> Option<ProgressiveMetric> {
        Some(ProgressiveMetric::Usage)
    }
}

/// The position of each owner's three exponents among those of all owners.
fn tiered(workloads: &[Workload], shares: &dyn ShareLookup) -> Vec<u64> {
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
