//! The queues of a resource group: their configuration, and what the kernels hold and ask for. Section marks
//! (`DIVISION §1`) cite the semantics in `docs/DIVISION.md`.

mod assignment;
mod config;
mod demand;
mod key_facts;
mod live_kernel;
mod spec;
mod values;

pub use assignment::{DEFAULT_QUEUE, ProjectNames, QueueConfigs, queue_of};
pub use config::queue_keys;
pub use config::{MAX_RUNTIME_SECONDS, QueueConfig};
pub use demand::{ClaimSums, DemandPortion, QueueClaim, QueueDemand};
pub use key_facts::{QueueKeyFacts, queue_key_facts};
pub use live_kernel::LiveKernel;
pub use spec::{GivenFigures, QueueSpec};
pub use values::{Bound, MAX_OVER_QUOTA_WEIGHT, MAX_QUEUES, MAX_WEIGHT, OverQuotaBy, OverQuotaWeight, QueueMode};
