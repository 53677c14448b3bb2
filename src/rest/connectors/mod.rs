//! Connectors of other schedulers, with their rounds.

pub mod delete;
pub mod list;
pub mod put;
