//! The demo: the cluster that it makes up, and the real program.

mod cluster;
mod program;
