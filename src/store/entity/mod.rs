//! One file for each table, as stored. Nothing above the store sees these types.

pub mod agent;
pub mod api_key;
pub mod audit_entry;
pub mod capacity_day;
pub mod division_day;
pub mod domain;
pub mod domain_fair_share;
pub mod domain_usage_bucket;
pub mod job_holder;
pub mod job_lease;
pub mod job_run;
pub mod kernel;
pub mod kernel_cursor;
pub mod membership;
pub mod project;
pub mod project_fair_share;
pub mod project_usage_bucket;
pub mod queue;
pub mod resource_group;
pub mod service_clock;
pub mod service_run;
pub mod usage_gap;
pub mod usage_record;
pub mod user;
pub mod user_fair_share;
pub mod user_usage_bucket;
