//! The actions of a cycle, after kube-batch (CYCLE §5). An action is one file here and one line in [`ACTIONS`].

mod allocate;
mod backfill;
mod preempt;
mod reclaim;

use super::state::CycleState;

/// The phases of a cycle: what runs in an earlier one does not depend on the order in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionPhase {
    /// In order, until a workload waits for room.
    InOrder,
    /// Behind workloads that wait for room.
    Behind,
    /// By eviction.
    Evicting,
}

/// One way to start workloads.
pub trait CycleAction: Sync {
    fn name(&self) -> &'static str;

    fn phase(&self) -> ActionPhase;

    /// Starts what it can. An action of the first two phases that is not chosen starts nothing, but finds out why
    /// workloads wait.
    fn run(&self, cycle: &mut CycleState, is_chosen: bool);
}

/// All actions. A new one is a new file and a line here.
static ACTIONS: &[&dyn CycleAction] =
    &[&allocate::AllocateAction, &backfill::BackfillAction, &reclaim::ReclaimAction, &preempt::PreemptAction];

pub fn names() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().map(|action| action.name())
}

pub fn action(name: &str) -> Option<&'static dyn CycleAction> {
    ACTIONS.iter().copied().find(|action| action.name() == name)
}

/// The actions of a phase, chosen or not.
pub fn of_phase(phase: ActionPhase) -> impl Iterator<Item = &'static dyn CycleAction> {
    ACTIONS.iter().copied().filter(move |action| action.phase() == phase)
}
