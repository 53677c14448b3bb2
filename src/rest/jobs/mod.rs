//! Scheduled jobs: lists them, and runs one now.

pub mod list;
pub mod run;
pub mod trust_clock;
pub mod view;
