//! The slots that the agents of a group offer together (FAIR_SHARE §1).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::input_warning::list_names;
use crate::domain::decimal::Amount;
use crate::domain::slots::{SlotAmounts, SlotName};
use crate::store::agents::StoredAgent;

/// The most slots that a message lists by name.
const MAX_NAMED_SLOTS: usize = 8;

/// The group's capacity: the sum over agents that are alive and schedulable.
pub fn capacity_of(agents: &[StoredAgent]) -> SlotAmounts {
    let mut sum = SlotAmounts::default();
    for agent in agents.iter().filter(|a| a.offers()) {
        sum.add(&agent.available_slots);
    }
    sum.filtered(|amount: Amount| !amount.is_zero())
}

/// The slots of all agents, in service or not, by name.
pub fn slots_of(agents: &[StoredAgent]) -> Arc<[SlotName]> {
    let all = agents.iter().flat_map(|agent| agent.available_slots.iter());
    let named: BTreeSet<SlotName> = all.filter(|(_, amount)| !amount.is_zero()).map(|(slot, _)| slot).collect();
    named.into_iter().collect()
}

/// The message about a slot that is not among `agent_slots`.
pub fn slot_not_offered(slot: SlotName, agent_slots: &[SlotName]) -> String {
    let names = named_slots(agent_slots);
    format!("no agent of the group has the slot `{slot}`, so that it costs nothing; agents have {names}")
}

/// The names of slots as a message lists them.
pub fn named_slots(slots: &[SlotName]) -> String {
    let names: Vec<String> = slots.iter().map(|slot| format!("`{slot}`")).collect();
    list_names(&names, MAX_NAMED_SLOTS)
}

/// True for names such as `node[01-10]`, `node{1,2}` and `node1,node2`, which workload managers write for several
/// agents.
pub fn looks_like_range(name: &str) -> bool {
    let within = |open, close| {
        let (_, rest) = name.split_once(open)?;
        rest.split_once(close).map(|(within, _)| within)
    };
    let numbers = |text: &str| {
        text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ',' | ':'))
    };
    name.contains(',')
        || within('[', ']').is_some_and(numbers)
        || within('{', '}').is_some_and(|text| text.contains(".."))
}
