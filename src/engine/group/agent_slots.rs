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

/// True for names such as `node[01-10]`, `node{1..2}`, `node(1-3)`, `node01-node10` and `node1,node2`, which people and
/// workload managers write for several agents. A name like `rack01-10` may be that of one agent.
pub fn looks_like_range(name: &str) -> bool {
    let within = |(open, close): (char, char)| {
        let (_, rest) = name.split_once(open)?;
        rest.split_once(close).map(|(within, _)| within)
    };
    // One number in brackets is a part of the name of a virtual node of PBS.
    let is_range = |text: &str| {
        text.contains(['-', ',', ':'])
            && text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ',' | ':'))
    };
    let mut brackets = [('[', ']'), ('{', '}'), ('(', ')'), ('<', '>')].into_iter();
    name.contains(',')
        || name.contains("..")
        || brackets.any(|pair| within(pair).is_some_and(is_range))
        || name.match_indices('-').any(|(at, _)| is_first_and_last(&name[..at], &name[at + 1..]))
}

/// True for two names that differ in the number at their end, the lower one first.
fn is_first_and_last(first: &str, last: &str) -> bool {
    let without_number = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let ((first_name, first_number), (last_name, last_number)) =
        (first.split_at(without_number(first)), last.split_at(without_number(last)));
    let numbers = first_number.parse::<u64>().ok().zip(last_number.parse::<u64>().ok());
    !first_name.is_empty() && first_name == last_name && numbers.is_some_and(|(first, last)| first < last)
}
