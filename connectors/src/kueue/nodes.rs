//! The nodes of the cluster as agents: those that a `ResourceFlavor` of Kueue names.

use api::agents::AgentReport;
use domain::names::check_name;

use super::amounts::QuantityMapping;
use super::objects::{ClusterNode, ResourceFlavor};
use crate::slot_amounts::amount_texts;

/// The effects of taints that keep new pods away.
const CLOSING_EFFECTS: [&str; 2] = ["NoSchedule", "NoExecute"];

/// True if a flavor names the node: it has all labels of the flavor.
fn has_labels_of(node: &ClusterNode, flavor: &ResourceFlavor) -> bool {
    let labels = node.metadata.labels.as_ref();
    flavor.spec.node_labels.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

/// True if Workloads of the flavor may run on the node in spite of its taints.
fn tolerates(flavor: &ResourceFlavor, node: &ClusterNode) -> bool {
    let is_tolerated = |key: &str| {
        let named = flavor.spec.node_taints.iter().any(|taint| taint.key == key);
        // A toleration without a key is one of all taints.
        named
            || flavor
                .spec
                .tolerations
                .iter()
                .any(|toleration| toleration.key.as_deref().is_none_or(|other| other == key))
    };
    let taints = node.spec.taints.iter().filter(|taint| CLOSING_EFFECTS.contains(&&*taint.effect));
    taints.into_iter().all(|taint| is_tolerated(&taint.key))
}

/// The nodes that a flavor names, as agents.
pub fn agents(nodes: &[ClusterNode], flavors: &[ResourceFlavor], mapping: &QuantityMapping) -> Vec<AgentReport> {
    let agent = |node: &ClusterNode| {
        let name = node.metadata.name.clone().filter(|name| check_name(name).is_ok())?;
        let mut named = flavors.iter().filter(|flavor| has_labels_of(node, flavor)).peekable();
        named.peek()?;
        let status = node.status.clone().unwrap_or_default();
        let alive = status.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        Some(AgentReport {
            agent_id: name,
            available_slots: amount_texts(&mapping.amounts(&status.allocatable)),
            alive,
            schedulable: !node.spec.unschedulable && named.any(|flavor| tolerates(flavor, node)),
        })
    };
    nodes.iter().filter_map(agent).collect()
}
