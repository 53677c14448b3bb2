//! The order of pending workloads (FAIR_SHARE §9).

pub mod post;
pub mod view;
