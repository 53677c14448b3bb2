//! The queues of a resource group as they live: configured by admins, filled by kernels.
//! Section numbers (`§1`) cite the division semantics in `docs/DIVISION.md`.

mod choice;
mod config;
mod demand;
mod live;
mod workloads;

pub use choice::DivisionChoice;
pub use config::{ConfigFault, MAX_RUNTIME_SECONDS, QueueConfig, check};
pub use demand::{Claim, Demand, Held, Portion};
pub use live::{DEFAULT_QUEUE, Observed, ProjectNames, Queues, live_tree, queue_of};
pub use workloads::{LiveKernel, Workloads};
