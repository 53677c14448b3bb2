//! Reclaim plans for a workload, with the current state of a group.

pub mod post;
