//! The order of workloads in two snapshots of a group: of the workloads of a request, and of reported workloads.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::answer::{OrderedWorkload, PendingMoves, SequenceOrders, StartChange};
use super::request::FairShareSimulation;
use crate::engine::group::calculate::ClockMoment;
use crate::engine::group::live_kernels::LiveKernelList;
use crate::service::sequence::pending::ReportedWorkloads;
use crate::service::sequence::{SequenceInput, SequencedWorkloads};
use crate::service::visible_group::VisibleGroup;
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

/// The changes of the order of the reported workloads that wait, and of what a cycle would start. `kernels` are those that have
/// not ended.
pub fn pending_moves(
    service: &Service,
    [before, after]: [&VisibleGroup; 2],
    kernels: &LiveKernelList,
    moment: ClockMoment,
) -> Result<PendingMoves> {
    let order = |group: &VisibleGroup| ReportedWorkloads::of(group, kernels).order(service, group, moment.now, false);
    let ordered = order(before)?;
    if ordered.order.is_empty() {
        return Ok(PendingMoves::default());
    }
    let mut items = positions(&ordered, &order(after)?);
    let count = items.len() as u64;
    items.retain(|item| item.position_before != item.position_after);
    let moved = items.len() as u64;
    items.sort_by_key(|item| Reverse(item.position_before.abs_diff(item.position_after)));
    items.truncate(MAX_MOVES);
    let starts = |group: &VisibleGroup| service.find_starts(group, kernels, moment.now);
    let (was, is) = (starts(before)?, starts(after)?);
    let number = |starts: &Option<BTreeSet<Arc<str>>>| starts.as_ref().map(|starts| starts.len() as u64);
    let (starts_before, starts_after) = (number(&was), number(&is));
    let (was, is) = (was.unwrap_or_default(), is.unwrap_or_default());
    let change = |id: &Arc<str>| StartChange { workload_id: id.to_string(), starts_after: is.contains(id) };
    let start_changes = was.symmetric_difference(&is).take(MAX_MOVES).map(change).collect();
    Ok(PendingMoves { count, moved, items, starts_before, starts_after, start_changes })
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
