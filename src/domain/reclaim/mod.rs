//! Who has to give back so that a pending workload can run: a plan of victims with the rule that allowed each, or a
//! refusal with the rule that forbade each. Nothing is executed. Section numbers (`§6`) cite `docs/DIVISION.md`.

#![allow(clippy::result_large_err, reason = "a refusal carries the figures that reproduce it")]

mod budget;
mod free_capacity;
mod holdings;
mod input;
mod limits;
mod observe;
mod outcome;
mod plan;
mod policy;
mod search;
mod settings;
mod simulation;
mod snapshot;

pub use input::{
    Agent, Input, NodeOrder, Pending, PendingMember, PlanOptions, PolicyName, RunningMember, Strategy, Workload,
};
pub use observe::observed_tree;
pub use outcome::{Figures, Placed, Plan, Refusal, Rule, Verdict, Victim};
pub use plan::plan;
pub use policy::plugins;
pub use settings::Settings;
pub use simulation::Simulation;
