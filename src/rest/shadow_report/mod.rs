//! The shadow report of a group.

pub mod get;
