//! Replays (docs/REPLAY.md): the jobs of a history arrive as they really did, on a simulated clock, and a scheduler
//! starts them in the order of a policy. Usage, shares and orders come from the same code as in a server.

pub mod calibration;
mod cluster_capacity;
pub mod group;
pub mod history;
mod order;
mod pending_jobs;
pub mod policy;
pub mod report;
pub mod schedulers;
pub mod simulation;

use self::history::ReplayHistory;
use self::policy::ReplayPolicy;
use self::schedulers::ReplayScheduler;
use self::simulation::{ReplaySimulation, RuntimeEstimates};
use super::time::Timestamp;

/// The start of each job under a policy; `None` if the job never starts.
pub fn simulate(
    history: &ReplayHistory,
    policy: &ReplayPolicy,
    scheduler: &dyn ReplayScheduler,
    estimates: RuntimeEstimates,
) -> Vec<Option<Timestamp>> {
    let Some(mut simulation) = ReplaySimulation::new(history, policy, estimates) else { return Vec::new() };
    while simulation.advance_to_next_event().is_some() {
        run_round(&mut simulation, scheduler);
    }
    simulation.into_starts()
}

/// Lets the scheduler start jobs at the present instant. Returns them in the order of their starts.
pub fn run_round(simulation: &mut ReplaySimulation, scheduler: &dyn ReplayScheduler) -> Vec<u32> {
    let mut round = simulation.round();
    if !round.start_all() {
        scheduler.round(&mut round);
    }
    round.finish()
}
