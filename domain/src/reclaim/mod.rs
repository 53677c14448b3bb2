//! Reclaim plans which workloads have to be evicted so that a pending workload can run (DIVISION §6). The result is a
//! plan of victims, each with the rule that allowed it, or a refusal, which names the rule that forbade each candidate.
//! Section marks (`DIVISION §6`) cite `docs/DIVISION.md`.
//!
//! The input (`input`) is a tree with the fair shares of a division, the running workloads, the pending workload and,
//! if known, the agents. `snapshot` resolves it to indices. `plan` first looks for room without victims, then for
//! victims in other queues (reclaim), then for victims of lower priority in the same queue (preemption). A `policy`
//! decides which unit may be evicted; the `search` selects among the allowed units.
//!
//! Reclaim executes nothing: a scheduler acts on the plan. It also computes no shares; these come from the `division`.
//!
//! Invariants:
//! - The same input gives the same plan: there is no clock (`now` is part of the input), no randomness, and the search
//!   is limited by a count of steps instead of time.
//! - A plan is minimal: dropping any one of its victims breaks it.
//! - A gang loses surplus members one by one, or it loses its whole core.

#![allow(clippy::result_large_err, reason = "a refusal carries the figures that reproduce it")]

mod board;
pub(crate) mod budget;
pub(crate) mod free_capacity;
pub(crate) mod holdings;
pub(crate) mod input;
mod limits;
mod observe;
mod outcome;
mod plan;
mod plan_options;
pub(crate) mod policy;
pub(crate) mod search;
mod settings;
mod simulation;
pub(crate) mod snapshot;
mod workloads;

pub use input::{PendingGang, PendingMember, ReclaimAgent, ReclaimInput, RunningMember, RunningWorkload};
pub use observe::observed_tree;
pub(crate) use observe::with_slots_of;
pub use outcome::{EvictionRefusal, PlacedMember, PlanFigures, ReclaimPlan, ReclaimRule, ReclaimVerdict, Victim};
pub use plan::{plan, plan_warnings};
pub use plan_options::{NodeOrder, PlanOptions, PolicyName, ReclaimStrategy};
pub use policy::plugins;
pub use settings::ReclaimOptions;
pub use simulation::ReclaimSimulation;
pub(crate) use simulation::{find_duplicates, find_duplicates_in_running};
pub use workloads::GroupWorkloads;
pub(crate) use workloads::running_members;
