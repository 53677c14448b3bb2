//! `preempt`: a workload takes room from less urgent ones of its own queue.

use super::{Action, Phase};
use crate::cycle::plans::PlanRun;
use crate::cycle::state::Cycle;
use crate::reclaim::search::EvictionMode;

/// Starts workloads by evicting members of a lower priority in the same queue (DIVISION §6.5).
pub(super) struct Preempt;

impl Action for Preempt {
    fn name(&self) -> &'static str {
        "preempt"
    }

    fn phase(&self) -> Phase {
        Phase::Evicting
    }

    fn run(&self, cycle: &mut Cycle, _: bool) {
        PlanRun::new(cycle, EvictionMode::Preempt, self.name()).run();
    }
}
