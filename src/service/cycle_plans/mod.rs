//! Scheduling cycles over the live state of a group: what starts now and where, what is evicted for it, and why the rest waits
//! (CYCLE §1). Nothing is stored, started or evicted.
//!
//! `request` is what a caller may say. `live_input` makes the input of the engine from a snapshot, its kernels and the group's
//! own order. `memory` keeps the reasons of the newest cycle of each group for lists and explanations. `what_if` runs a cycle in
//! which one workload is different.

mod live_input;
pub mod memory;
mod request;
pub mod what_if;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(in crate::service) use live_input::learned_seconds;
pub use request::CyclePlanRequest;

use self::live_input::LiveInput;
use self::memory::CycleReasons;
use super::access::ClientId;
use super::reported_workloads::assessed_workloads;
use super::{Caller, Error, Fault, Result, Service};
use crate::domain::cycle::{CycleAnswer, CycleOptions};
use crate::domain::time::Timestamp;
use crate::engine::group::live_kernels::LiveKernelList;
use crate::engine::work::run_blocking;
use crate::service::visible_group::VisibleGroup;

impl Service {
    /// Runs a cycle over the live state of the group, with the reported workloads that wait or with those of the document, a
    /// [`CyclePlanRequest`]. The memory for it is reserved until `show` has made of the answer what the client gets.
    #[tracing::instrument(
        name = "service.cycle_plans.plan_cycle",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn plan_cycle<D: AsRef<[u8]>, T: Send>(
        &self,
        caller: &Caller,
        group: &str,
        document: impl FnOnce() -> D + Send,
        show: impl FnOnce(&CycleAnswer) -> Result<T> + Send,
    ) -> Result<T> {
        caller.require_scheduler()?;
        let group = self.group(caller, group)?;
        let kernels = self.live_kernels(group.published()).await?;
        let now = self.clock().now();
        let plan = |request: CyclePlanRequest| {
            let is_of_group = request.workloads.is_none() && request.cycle.is_none();
            let options = request.options(&group)?;
            let assessed = assessed_workloads(group.published(), &kernels);
            let input = LiveInput { service: self, group: &group, assessed: &assessed, now };
            let answer = match request.workloads {
                Some(workloads) => input.run_with(workloads, options, request.explain).map_err(at_workloads)?,
                None => input.run(options, request.explain)?,
            };
            Ok((show(&answer)?, is_of_group.then(|| CycleReasons::of(&group, Some(&answer), now))))
        };
        let work = || self.with_reserved(caller, document().as_ref(), CyclePlanRequest::expanded_bytes, plan);
        let (shown, reasons) = self.permits.run(caller.client(), work).await?;
        if let Some(reasons) = reasons {
            self.cycles.keep(&group, reasons).await;
        }
        Ok(shown)
    }

    /// The reasons for which workloads of the group wait, from a cycle with the group's own options. A cycle that is recent
    /// enough is used again. A group that cannot be divided has no reasons.
    pub(in crate::service) async fn cycle_reasons(&self, group: &VisibleGroup) -> Result<Arc<CycleReasons>> {
        let kernels = self.live_kernels(group.published()).await?;
        let newest = self.cycles.of_group(group);
        // Requests that come while a cycle runs wait for it without a permit, and share it.
        let mut newest = newest.lock().await;
        let now = self.clock().now();
        if let Some(known) = newest.as_ref().filter(|known| known.are_usable(group, kernels.len(), now)) {
            return Ok(Arc::clone(known));
        }
        // All requests that wait share the cycle, so its permit counts for no client.
        let _permit = self.permits.acquire(ClientId::Local).await?;
        let made = run_blocking(|| {
            let assessed = assessed_workloads(group.published(), &kernels);
            let input = LiveInput { service: self, group, assessed: &assessed, now };
            match input.waits().then(|| input.run(group_options(group), false)).transpose() {
                Ok(answer) => Ok(CycleReasons::of(group, answer.as_ref(), now)),
                Err(error @ (Error::Conflict { .. } | Error::Invalid(_))) => {
                    tracing::warn!(group = %group.name, %error, "workloads are shown without the reasons why they wait");
                    Ok(CycleReasons::of(group, None, now))
                }
                Err(error) => Err(error),
            }
        })?;
        let made = Arc::new(made);
        *newest = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The workloads that a cycle with the options of the group would start as of `now`. `kernels` are those that have not
    /// ended. `None`: the group cannot be divided.
    pub(in crate::service) fn find_starts(
        &self,
        group: &VisibleGroup,
        kernels: &LiveKernelList,
        now: Timestamp,
    ) -> Result<Option<BTreeSet<Arc<str>>>> {
        let assessed = assessed_workloads(group.published(), kernels);
        let input = LiveInput { service: self, group, assessed: &assessed, now };
        match input.run(group_options(group), false) {
            Ok(answer) => Ok(Some(answer.starts.iter().map(|start| Arc::clone(&start.workload_id)).collect())),
            Err(Error::Conflict { .. } | Error::Invalid(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Frees the reasons of old cycles.
    pub fn forget_cycles(&self) {
        self.cycles.forget(self.clock().now());
    }
}

/// The options of the group's cycles.
fn group_options(group: &VisibleGroup) -> CycleOptions {
    let mut options = group.options.cycle.clone();
    options.order_queues_as(group.scheduler.name());
    options
}

/// Converts pointers of faults: the request has the pending workloads under `workloads`.
fn at_workloads(error: Error) -> Error {
    let Error::Invalid(faults) = error else { return error };
    let shown = faults.into_iter().map(|fault| {
        let below = fault.pointer.strip_prefix("/pending").map(|below| format!("/workloads{below}"));
        Fault { pointer: below.unwrap_or(fault.pointer), ..fault }
    });
    Error::Invalid(shown.collect())
}
