//! Laws and worked examples of the pure rules.

mod agreement;
mod buckets;
mod capacity;
mod cycle;
mod decay;
mod decimals;
mod exact_sums;
mod explain;
mod factors;
mod fairness;
mod filters;
mod forecasts;
mod hierarchy;
mod job_schedules;
mod kernel_agents;
mod kernels;
mod ledger;
mod live_forecasts;
mod metadata;
mod normalization;
mod options;
mod outstanding;
mod parallel;
mod placement_rules;
mod progressive;
mod quantities;
mod ranking;
mod readings;
mod replay_rounds;
mod replays;
mod sequencing;
mod slices;
mod slurm_shares;
mod spans;
mod statuses;
mod support;
mod suspensions;
mod turns;
mod workloads;
mod worlds;

/// The rules under the name that the file that benches have in common with these tests uses.
pub(crate) use domain as rules;
