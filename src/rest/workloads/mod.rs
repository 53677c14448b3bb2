//! Workloads: gangs of kernels, or the kernels of a session where there is no gang.

pub mod get;
pub mod list;
pub mod what_if;
