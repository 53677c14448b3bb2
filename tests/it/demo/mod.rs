//! The demo: its generated cluster, and the real program.

mod cluster;
mod documented;
mod hours;
mod past;
mod plans;
pub mod program;
mod pulse;
mod walk;
