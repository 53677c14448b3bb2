//! Checks queues before they are stored: as one tree together with the queues that do not change.

use std::sync::Arc;

use super::algorithms::{DivisionAlgorithm, DivisionOptions};
use super::report::lint::lint;
use super::tree::QueueTree;
use super::tree::warning::DivisionWarning;
use crate::fault::{Fault, MAX_FAULTS};
use crate::queues::{MAX_RUNTIME_SECONDS, QueueConfig, QueueSpec};
use crate::slots::SlotAmounts;

/// The pointer of a fault that concerns the queues as a whole.
const QUEUES_POINTER: &str = "/queues";

/// Checks the queues that are `written` together with the unchanged ones. Returns the linter's warnings.
pub fn check<'a>(
    written: &'a [Arc<QueueConfig>],
    unchanged: impl Iterator<Item = &'a Arc<QueueConfig>>,
    capacity: &SlotAmounts,
    (algorithm, options): (&dyn DivisionAlgorithm, &DivisionOptions),
) -> Result<Vec<DivisionWarning>, Vec<Fault>> {
    // The written queues come first, so that the indices in faults are places in the request.
    let specs: Vec<QueueSpec> = written.iter().chain(unchanged).map(Arc::clone).map(QueueSpec::from).collect();
    let mut faults: Vec<Fault> = written.iter().enumerate().flat_map(runtime_faults).take(MAX_FAULTS).collect();
    match QueueTree::build(&specs, capacity) {
        Ok(tree) if faults.is_empty() => return Ok(lint(&tree, algorithm, options)),
        Ok(_) => {}
        Err(found) => faults.extend(found.into_iter().map(|fault| place(fault, written.len()))),
    }
    // An unchanged queue can be at fault only because of a written one, so faults of written queues suffice.
    if faults.iter().any(|fault| fault.pointer != QUEUES_POINTER) {
        faults.retain(|fault| fault.pointer != QUEUES_POINTER);
    }
    Err(faults)
}

fn runtime_faults((queue, config): (usize, &Arc<QueueConfig>)) -> impl Iterator<Item = Fault> {
    let figures =
        [("preempt_min_runtime", config.preempt_min_runtime), ("reclaim_min_runtime", config.reclaim_min_runtime)];
    figures.into_iter().filter(|(_, seconds)| seconds.is_some_and(|s| s > MAX_RUNTIME_SECONDS)).map(move |(key, _)| {
        let said = format!("must be at most {MAX_RUNTIME_SECONDS} seconds");
        Fault::about(format!("{QUEUES_POINTER}/{queue}/{key}"), "out_of_range", said)
    })
}

/// A fault of an unchanged queue becomes a fault of the queues as a whole.
fn place(fault: Fault, written: usize) -> Fault {
    let queue = fault.pointer.strip_prefix("/queues/").and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
    match queue {
        Some(at) if at < written => fault,
        _ => Fault { pointer: QUEUES_POINTER.to_owned(), ..fault },
    }
}
