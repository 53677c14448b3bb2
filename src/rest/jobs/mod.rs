//! Scheduled tasks: what there is, what ran, run one now.

pub mod list;
pub mod run;
pub mod trust_clock;
pub mod view;
