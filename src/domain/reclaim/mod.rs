//! Who has to give back so that a pending workload can run: a plan of victims with the rule that allowed each, or a
//! refusal with the rule that forbade each. Nothing is executed. Section numbers (`§6`) cite `docs/DIVISION.md`.

#![allow(clippy::result_large_err, reason = "a refusal carries the figures that reproduce it")]

mod attempt;
mod budget;
mod candidates;
mod ceilings;
mod input;
mod kinds;
mod limits;
mod observe;
mod order;
mod outcome;
mod packing;
mod plan;
pub mod plugins;
mod policy;
mod prune;
mod refuse;
mod rooms;
mod scene;
mod search;
mod sets;
mod settings;
mod simulation;
mod standing;
mod strategies;

pub use input::{Agent, NodeOrder, Pending, PendingMember, PlanOptions, PolicyName, RunningMember, Strategy, Workload};
pub use observe::observed_tree;
pub use outcome::{Figures, Placed, Plan, Refusal, Rule, Verdict, Victim};
pub use plan::{Input, plan};
pub use settings::Settings;
pub use simulation::Simulation;
