//! The schedulers of a replay: each decides which of the pending jobs start, given their order. A scheduler is one file
//! here and one line in [`SCHEDULERS`].

mod easy;
mod skip;
mod strict;

use super::simulation::Round;

/// A scheduler, which starts jobs in an order.
pub trait Starts: Sync {
    fn name(&self) -> &'static str;

    /// A description in one line, for the help text.
    fn about(&self) -> &'static str;

    /// Starts the jobs that can start now.
    fn round(&self, round: &mut Round);
}

pub static SCHEDULERS: &[&dyn Starts] = &[&strict::Strict, &skip::Skip, &easy::Easy];

pub fn by_name(name: &str) -> Option<&'static dyn Starts> {
    SCHEDULERS.iter().copied().find(|scheduler| scheduler.name() == name)
}
