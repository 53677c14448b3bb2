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
    while advance_round(&mut simulation, scheduler).is_some() {}
    simulation.into_starts()
}

/// Advances to the next event and lets the scheduler start jobs. Returns the time of the event; `None` if there is none.
fn advance_round(simulation: &mut ReplaySimulation, scheduler: &dyn ReplayScheduler) -> Option<Timestamp> {
    let now = simulation.next_event()?;
    simulation.advance(now);
    if !simulation.start_all() {
        scheduler.round(&mut simulation.round());
    }
    Some(now)
}
