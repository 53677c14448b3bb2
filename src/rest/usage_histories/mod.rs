//! Histories: usage of earlier years that was imported from another system.

pub mod delete;
pub mod list;
pub mod put;
pub mod view;
