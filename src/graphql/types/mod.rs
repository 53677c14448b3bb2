//! Object types, one file each.

mod agent;
mod audit_entry;
mod bucket_facts;
mod division;
mod domain_fair_share;
mod domain_usage_bucket;
mod fair_share_weight;
mod job;
mod job_run;
mod node;
mod person;
mod project_fair_share;
mod project_usage_bucket;
mod queue;
mod scaling_group;
mod share_facts;
mod user_fair_share;
mod user_usage_bucket;

pub use agent::Agent;
pub use audit_entry::AuditEntry;
pub use bucket_facts::BucketFacts;
pub use division::{Division, DivisionDayNode};
pub use domain_fair_share::DomainFairShare;
pub use domain_usage_bucket::DomainUsageBucketNode;
pub use fair_share_weight::{FairShareWeightNode, UpsertFairShareWeightsResult, weight_rows};
pub use job::Job;
pub use job_run::JobRun;
pub use node::Node;
pub use person::{Domain, Project, User};
pub use project_fair_share::ProjectFairShare;
pub use project_usage_bucket::ProjectUsageBucketNode;
pub use queue::{OverQuotaBy, Queue, QueueMode, QueueWarning, UpsertQueuesResult};
pub use scaling_group::ScalingGroup;
pub use share_facts::ShareFacts;
pub use user_fair_share::UserFairShare;
pub use user_usage_bucket::UserUsageBucketNode;
