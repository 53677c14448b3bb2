//! Metrics for Prometheus.

pub mod get;
mod recorder;

pub use recorder::{describe, record_request};
