//! Laws and worked examples of the scheduling cycle (`docs/CYCLE.md`).

mod actions;
mod brute_force;
mod documented;
mod easy;
mod input;
mod laws;
mod naive;
mod placement;
mod predicates;
mod reasons;
mod scale;
mod scores;
mod stories;
mod support;
mod surplus;
mod workload_shares;
mod world;
