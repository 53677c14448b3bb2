//! The resources of Kubernetes as slots: what a Workload asks for and holds, and what a node has.

use std::collections::BTreeMap;

use domain::decimal::Amount;
use domain::quantity;

use super::objects::{KueueWorkload, PodSetContainer, PodSetPodSpec, ResourceList};
use crate::slot_amounts::add_amounts;

/// The slots of the resources that every cluster has.
const COMMON_SLOTS: [(&str, &str); 2] = [("cpu", "cpu"), ("memory", "mem")];

/// The slots of Kubernetes' resources. `cpu` and `memory` are always slots, and resources without a slot are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityMapping {
    slots: BTreeMap<String, String>,
}

impl QuantityMapping {
    pub fn new(mut slots: BTreeMap<String, String>) -> Self {
        for (resource, slot) in COMMON_SLOTS {
            slots.entry(resource.to_owned()).or_insert_with(|| slot.to_owned());
        }
        Self { slots }
    }

    /// The pairs of a resource and its slot.
    pub fn pairs(&self) -> &BTreeMap<String, String> {
        &self.slots
    }

    /// The amounts of a list. An amount beyond the largest one, which no cluster can give, is left out.
    pub fn amounts(&self, list: &ResourceList) -> BTreeMap<String, Amount> {
        let mut amounts = BTreeMap::new();
        for (resource, slot) in &self.slots {
            let amount = list.get(resource).and_then(|quantity| quantity::parse(&quantity.0).ok());
            if let Some(amount) = amount.filter(|amount| !amount.is_zero()) {
                add_amounts(&mut amounts, &BTreeMap::from([(slot.clone(), amount)]));
            }
        }
        amounts
    }

    /// The amounts that a Workload asks for. Kueue notes them when it looks at the Workload; before that they follow from its pods.
    pub fn requested(&self, workload: &KueueWorkload) -> BTreeMap<String, Amount> {
        let mut sums = BTreeMap::new();
        let noted = workload.status.as_ref().map(|status| &*status.resource_requests).unwrap_or_default();
        for request in noted {
            add_amounts(&mut sums, &self.amounts(&request.resources));
        }
        if noted.is_empty() {
            for pods in &workload.spec.pod_sets {
                let each = self.pod_amounts(&pods.template.spec);
                let all = |(slot, amount): (String, Amount)| Some((slot, amount.checked_mul(u64::from(pods.count))?));
                add_amounts(&mut sums, &each.into_iter().filter_map(all).collect());
            }
        }
        sums
    }

    /// The amounts that an admitted Workload holds.
    pub fn held(&self, workload: &KueueWorkload) -> BTreeMap<String, Amount> {
        let mut sums = BTreeMap::new();
        let admission = workload.status.as_ref().and_then(|status| status.admission.as_ref());
        for assignment in admission.into_iter().flat_map(|admission| &admission.pod_set_assignments) {
            add_amounts(&mut sums, &self.amounts(&assignment.resource_usage));
        }
        sums
    }

    /// The amounts of one pod by the rule of Kubernetes: containers run together, and init containers before them one after the other, but
    /// those that are always restarted go on running beside all others.
    fn pod_amounts(&self, pod: &PodSetPodSpec) -> BTreeMap<String, Amount> {
        let (mut running, mut sidecars, mut peak) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for container in &pod.init_containers {
            let amounts = self.container_amounts(container);
            let mut starting = sidecars.clone();
            add_amounts(&mut starting, &amounts);
            raise_amounts(&mut peak, &starting);
            if container.restart_policy.as_deref() == Some("Always") {
                sidecars = starting;
            }
        }
        for container in &pod.containers {
            add_amounts(&mut running, &self.container_amounts(container));
        }
        add_amounts(&mut running, &sidecars);
        raise_amounts(&mut peak, &running);
        add_amounts(&mut peak, &self.amounts(&pod.overhead));
        peak
    }

    /// The requests of a container. A limit without a request is one.
    fn container_amounts(&self, container: &PodSetContainer) -> BTreeMap<String, Amount> {
        let Some(resources) = &container.resources else { return BTreeMap::new() };
        let mut list = resources.limits.clone().unwrap_or_default();
        list.extend(resources.requests.clone().unwrap_or_default());
        self.amounts(&list)
    }
}

/// Raises amounts to others where these are larger.
fn raise_amounts(most: &mut BTreeMap<String, Amount>, amounts: &BTreeMap<String, Amount>) {
    for (slot, amount) in amounts {
        let known = most.entry(slot.clone()).or_insert(Amount::ZERO);
        *known = (*known).max(*amount);
    }
}
