//! The order of workloads in two snapshots of a group: of the workloads of a request, and of reported workloads.

use std::cmp::Reverse;

use super::answer::{OrderedWorkload, PendingMoves, SequenceOrders};
use super::request::FairShareSimulation;
use crate::service::group::calculate::ClockMoment;
use crate::service::group::visible::VisibleGroup;
use crate::service::sequence::{PendingWorkload, SequenceInput, SequencedWorkloads};
use crate::service::{Result, Service};

/// The largest number of reported workloads in an answer.
const MAX_MOVES: usize = 10;

/// The order of the request's workloads before and after; `None` if it has none.
pub fn compare_orders(
    service: &Service,
    [before, after]: [&VisibleGroup; 2],
    asked: &FairShareSimulation<'_>,
    moment: ClockMoment,
) -> Result<Option<SequenceOrders>> {
    if asked.workloads.is_empty() {
        return Ok(None);
    }
    let order = |group: &VisibleGroup| {
        let (workloads, placed) = (asked.workloads.clone(), asked.placed.clone());
        let input = SequenceInput { workloads, mode: asked.mode, placed, ..SequenceInput::default() };
        service.order_of(group.clone(), input, moment.now)
    };
    let (before, after) = (order(before)?, order(after)?);
    let items = positions(&before, &after);
    Ok(Some(SequenceOrders { mode_before: before.mode, mode_after: after.mode, items }))
}

/// The changes of the order of the reported workloads that wait.
pub fn pending_moves(
    service: &Service,
    [before, after]: [&VisibleGroup; 2],
    pending: Vec<PendingWorkload<'static>>,
    moment: ClockMoment,
) -> Result<PendingMoves> {
    if pending.is_empty() {
        return Ok(PendingMoves::default());
    }
    let order = |group: &VisibleGroup, workloads| {
        service.order_of(group.clone(), SequenceInput { workloads, ..SequenceInput::default() }, moment.now)
    };
    let before = order(before, pending.clone())?;
    let mut items = positions(&before, &order(after, pending)?);
    let count = items.len() as u64;
    items.retain(|item| item.position_before != item.position_after);
    let moved = items.len() as u64;
    items.sort_by_key(|item| Reverse(item.position_before.abs_diff(item.position_after)));
    items.truncate(MAX_MOVES);
    Ok(PendingMoves { count, moved, items })
}

/// The positions of the same workloads in two orders, by their positions after the change.
fn positions(before: &SequencedWorkloads<'_>, after: &SequencedWorkloads<'_>) -> Vec<OrderedWorkload> {
    let mut position_before = vec![0; before.workloads.len()];
    for (position, at) in (1..).zip(&before.order) {
        position_before[*at as usize] = position;
    }
    let item = |(position_after, at): (u64, &u32)| OrderedWorkload {
        workload_id: after.workloads[*at as usize].id.to_string(),
        position_before: position_before[*at as usize],
        position_after,
    };
    (1..).zip(&after.order).map(item).collect()
}
