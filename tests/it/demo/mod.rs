//! The demo: the cluster that it makes up, and the real program.

mod cluster;
mod documented;
mod past;
mod plans;
mod program;
mod pulse;
