//! `reclaim`: a queue below its share takes room back from queues above theirs.

use super::{Action, Phase};
use crate::cycle::plans::PlanRun;
use crate::cycle::state::Cycle;
use crate::reclaim::search::EvictionMode;

/// Starts workloads by evicting members of other queues (DIVISION §6.2).
pub(super) struct Reclaim;

impl Action for Reclaim {
    fn name(&self) -> &'static str {
        "reclaim"
    }

    fn phase(&self) -> Phase {
        Phase::Evicting
    }

    fn run(&self, cycle: &mut Cycle, _: bool) {
        PlanRun::new(cycle, EvictionMode::Reclaim, self.name()).run();
    }
}
