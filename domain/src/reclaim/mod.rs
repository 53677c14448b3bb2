//! Which workloads have to go so that a pending workload can run: a plan of victims with the rule that allowed each, or
//! a refusal with the rule that forbade each. Nothing is executed. Section marks (`DIVISION §6`) cite
//! `docs/DIVISION.md`.

#![allow(clippy::result_large_err, reason = "a refusal carries the figures that reproduce it")]

mod board;
mod budget;
mod free_capacity;
mod holdings;
mod input;
mod limits;
mod observe;
mod outcome;
mod plan;
mod plan_options;
mod policy;
mod search;
mod settings;
mod simulation;
mod snapshot;
mod workloads;

pub use input::{Agent, Input, Pending, PendingMember, RunningMember, Workload};
pub use observe::observed_tree;
pub use outcome::{Figures, Placed, Plan, Refusal, Rule, Verdict, Victim};
pub use plan::plan;
pub use plan_options::{NodeOrder, PlanOptions, PolicyName, Strategy};
pub use policy::plugins;
pub use settings::Settings;
pub use simulation::Simulation;
pub use workloads::Workloads;
