//! `fairshared demo`: one command, and there is a cluster to look at.

mod clock;
pub mod cluster;
pub mod command;
pub mod fill;
pub mod people;
pub mod pulse;
mod queues;
pub mod random;
mod welcome;
