//! Replays (docs/REPLAY.md): the jobs of a history arrive as they really did, on a simulated clock, and a scheduler
//! starts them in the order of a policy. Usage, shares and orders come from the same code as in a server.

pub mod group;
pub mod history;
mod order;
pub mod policy;
pub mod report;
mod room;
pub mod schedulers;
pub mod simulation;
mod waiting;

use self::history::History;
use self::policy::Policy;
use self::schedulers::Starts;
use self::simulation::{Estimates, Simulation};
use super::time::Timestamp;

/// The start of each job under a policy; `None` if the job never starts.
pub fn simulate(
    history: &History,
    policy: &Policy,
    scheduler: &dyn Starts,
    estimates: Estimates,
) -> Vec<Option<Timestamp>> {
    let Some(mut simulation) = Simulation::new(history, policy, estimates) else { return Vec::new() };
    while let Some(now) = simulation.next_event() {
        simulation.advance(now);
        if !simulation.start_all() {
            scheduler.round(&mut simulation.round());
        }
    }
    simulation.into_starts()
}
