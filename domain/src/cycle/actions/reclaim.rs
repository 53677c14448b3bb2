//! `reclaim`: a queue below its share takes room back from queues above theirs.

use super::{ActionPhase, CycleAction};
use crate::cycle::plans::PlanRun;
use crate::cycle::state::CycleState;
use crate::reclaim::search::EvictionMode;

/// Starts workloads by evicting members of other queues (DIVISION §6.2).
pub(super) struct ReclaimAction;

impl CycleAction for ReclaimAction {
    fn name(&self) -> &'static str {
        "reclaim"
    }

    fn phase(&self) -> ActionPhase {
        ActionPhase::Evicting
    }

    fn run(&self, cycle: &mut CycleState, _: bool) {
        PlanRun::new(cycle, EvictionMode::Reclaim, self.name()).run();
    }
}
