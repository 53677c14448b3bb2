//! The order of pending workloads (§9).

pub mod post;
pub mod view;
