//! The faults of a list of queues that is not a tree (DIVISION §1), each with its place.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decimal::Amount;
use crate::fault::Fault;
use crate::names::check_name;
use crate::queues::{MAX_OVER_QUOTA_WEIGHT, MAX_WEIGHT, OverQuotaWeight, QueueSpec};

fn report(queue: usize, key: &str, code: &'static str, detail: impl Into<String>) -> Fault {
    Fault::new(format!("/queues/{queue}/{key}"), code, detail)
}

/// The fault of an item at `pointer` whose `queue` is not in the tree.
pub fn unknown_queue(pointer: &str, name: &str) -> Fault {
    Fault::new(format!("{pointer}/queue"), "unknown_queue", format!("there is no queue {name:?}"))
}

pub(super) fn index_names(specs: &[QueueSpec], faults: &mut Vec<Fault>) -> HashMap<Arc<str>, usize> {
    let mut by_name: HashMap<Arc<str>, usize> = HashMap::with_capacity(specs.len());
    for (at, spec) in specs.iter().enumerate() {
        if let Err(error) = check_name(&spec.config.name) {
            faults.push(report(at, "name", "invalid_name", format!("`name` {error}")));
        } else if let Some(first) = by_name.get(spec.config.name.as_str()) {
            let detail = format!("the queue {:?} is named twice, first at /queues/{first}", spec.config.name);
            faults.push(report(at, "name", "duplicate_name", detail));
        } else {
            by_name.insert(spec.config.name.as_str().into(), at);
        }
    }
    by_name
}

pub(super) fn find_parents(
    specs: &[QueueSpec],
    by_name: &HashMap<Arc<str>, usize>,
    faults: &mut Vec<Fault>,
) -> Vec<Option<usize>> {
    let mut find = |(at, spec): (usize, &QueueSpec)| {
        let name = spec.config.parent.as_deref()?;
        let parent = by_name.get(name).copied();
        if parent.is_none() {
            faults.push(report(at, "parent", "unknown_parent", format!("there is no queue {name:?}")));
        }
        parent
    };
    specs.iter().enumerate().map(&mut find).collect()
}

/// Checks the upper bounds of weights and ratios. Negative values are already excluded by their type.
pub(super) fn check_figures(specs: &[QueueSpec], faults: &mut Vec<Fault>) {
    for (at, spec) in specs.iter().enumerate() {
        let mut check = |key: &str, value: Amount, most: Amount| {
            if value > most {
                faults.push(report(at, key, "out_of_range", format!("`{key}` must be at most {most}")));
            }
        };
        check("weight", spec.config.weight, MAX_WEIGHT);
        check("min_share_ratio", spec.config.min_share_ratio, MAX_WEIGHT);
        let mut weigh = |weight| check("over_quota_weight", weight, MAX_OVER_QUOTA_WEIGHT);
        match &spec.config.over_quota_weight {
            OverQuotaWeight::Every(weight) => weigh(*weight),
            OverQuotaWeight::BySlot(weights) => weights.iter().for_each(|(_, weight)| weigh(weight)),
        }
        spec.given.usage.iter().for_each(|(_, ratio)| check("usage", ratio, MAX_WEIGHT));
    }
}

pub(super) fn report_cycles(
    specs: &[QueueSpec],
    parents: &[Option<usize>],
    reached: &[usize],
    faults: &mut Vec<Fault>,
) {
    const NOT_VISITED: usize = usize::MAX;
    const FULLY_VISITED: usize = usize::MAX - 1;
    let mut walk_of = vec![NOT_VISITED; parents.len()];
    for queue in reached {
        walk_of[*queue] = FULLY_VISITED;
    }
    for start in 0..parents.len() {
        let mut at = start;
        while walk_of[at] == NOT_VISITED {
            walk_of[at] = start;
            let Some(parent) = parents[at] else { break };
            at = parent;
        }
        // A walk that reaches its own path has found a cycle. Each member of the cycle is reported once.
        let mut member = at;
        while walk_of[member] == start {
            walk_of[member] = FULLY_VISITED;
            let detail = format!("the queue {:?} is its own ancestor", specs[member].config.name);
            faults.push(report(member, "parent", "cycle", detail));
            let Some(parent) = parents[member] else { break };
            member = parent;
        }
    }
    faults.sort_by(|a, b| (a.pointer.len(), &a.pointer).cmp(&(b.pointer.len(), &b.pointer)));
}
