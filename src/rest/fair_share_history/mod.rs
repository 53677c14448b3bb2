//! The factors and ranks that each day left behind.

pub mod list;
pub mod view;
