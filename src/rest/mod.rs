//! REST: one endpoint a file, `<resource>/<verb>.rs`. `router.rs` lists them all.

pub mod agents;
pub mod audit;
pub mod audit_log;
pub mod division;
pub mod domains;
mod etag;
pub mod extract;
pub mod fair_share_status;
pub mod fair_share_weights;
pub mod health;
pub mod job_runs;
pub mod jobs;
pub mod kernels;
pub mod keys;
pub mod list;
pub mod metrics;
mod openapi;
pub mod paths;
pub mod problem;
pub mod projects;
pub mod queues;
pub mod reclaim;
pub mod reclaim_plans;
pub mod resource_groups;
mod router;
pub mod scheduler_options;
pub mod sequence;
mod state;
mod undeclared;
pub mod usage_buckets;
pub mod usage_gaps;
pub mod users;
pub mod whoami;

pub use openapi::openapi;
pub use router::{in_time, router};
pub use state::{ApiState, Limits};
