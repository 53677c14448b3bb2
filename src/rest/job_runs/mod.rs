//! The runs of jobs: their times and results.

pub mod list;
