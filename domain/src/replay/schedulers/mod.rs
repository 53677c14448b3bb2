//! What a scheduler does with an order: which of the jobs that wait it starts. A scheduler is one file here and one line in
//! [`SCHEDULERS`].

mod easy;
mod skip;
mod strict;

use super::simulation::Round;

/// Starts jobs in an order.
pub trait Starts: Sync {
    fn name(&self) -> &'static str;

    /// One line of help.
    fn about(&self) -> &'static str;

    /// Starts what can start now.
    fn round(&self, round: &mut Round);
}

pub static SCHEDULERS: &[&dyn Starts] = &[&strict::Strict, &skip::Skip, &easy::Easy];

pub fn by_name(name: &str) -> Option<&'static dyn Starts> {
    SCHEDULERS.iter().copied().find(|scheduler| scheduler.name() == name)
}
