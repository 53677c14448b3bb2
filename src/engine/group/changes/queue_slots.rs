//! Warnings about slots of queues that no agent has: a quota of a misspelt slot guarantees nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::division::DivisionWarning;
use crate::domain::queues::{OverQuotaWeight, QueueConfig};
use crate::domain::slots::SlotName;
use crate::engine::group::agent_slots::named_slots;
use crate::engine::group::state::GroupState;

/// A warning for each slot that queues name and no agent has, at the first such queue.
pub(super) fn warnings(state: &GroupState, queues: &[Arc<QueueConfig>]) -> Vec<DivisionWarning> {
    let agent_slots = &state.agent_slots;
    if agent_slots.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<SlotName, (&str, u64)> = BTreeMap::new();
    for queue in queues {
        let mut slots: Vec<SlotName> = slots_of(queue).filter(|slot| !agent_slots.contains(slot)).collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            found.entry(slot).or_insert((&queue.name, 0)).1 += 1;
        }
    }
    let warning = |(slot, (queue, count)): (SlotName, (&str, u64))| {
        let others = if count > 1 { format!(", and {} more queues do so", count - 1) } else { String::new() };
        let detail =
            format!("names a slot that no agent of the group has{others}; agents have {}", named_slots(agent_slots));
        DivisionWarning::new("slot_not_offered", Some(queue), Some(slot), detail)
    };
    found.into_iter().map(warning).collect()
}

fn slots_of(queue: &QueueConfig) -> impl Iterator<Item = SlotName> {
    let bounds = queue.quota.iter().chain(queue.limit.iter()).map(|(slot, _)| slot);
    let weights = match &queue.over_quota_weight {
        OverQuotaWeight::BySlot(weights) => Some(weights),
        OverQuotaWeight::Every(_) => None,
    };
    let amounts =
        weights.into_iter().chain([&queue.guarantee]).flat_map(|amounts| amounts.iter().map(|(slot, _)| slot));
    bounds.chain(amounts)
}
