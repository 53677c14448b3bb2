//! The queues of a resource group as they live: configured by admins, filled by kernels.
//! Section numbers (`§1`) cite the division semantics in `docs/DIVISION.md`.

mod config;

pub use config::{ConfigFault, MAX_RUNTIME_SECONDS, QueueConfig, check};
