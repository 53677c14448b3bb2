//! `fairshared demo`: creates a cluster to look at with a single command.

mod clock;
pub mod cluster;
pub mod command;
mod fair_order;
pub mod fill;
pub mod groups;
pub mod jobs;
mod nodes;
pub mod people;
mod policy;
pub mod pulse;
mod queues;
pub mod random;
mod scheduler;
mod welcome;
