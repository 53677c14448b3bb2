//! `preempt`: a workload takes room from less urgent ones of its own queue.

use super::{ActionPhase, CycleAction};
use crate::cycle::plans::PlanRun;
use crate::cycle::state::CycleState;
use crate::reclaim::search::EvictionMode;

/// Starts workloads by evicting members of a lower priority in the same queue (DIVISION §6.5).
pub(super) struct PreemptAction;

impl CycleAction for PreemptAction {
    fn name(&self) -> &'static str {
        "preempt"
    }

    fn phase(&self) -> ActionPhase {
        ActionPhase::Evicting
    }

    fn run(&self, cycle: &mut CycleState, _: bool) {
        PlanRun::new(cycle, EvictionMode::Preempt, self.name()).run();
    }
}
