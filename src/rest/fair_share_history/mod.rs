//! The factors and ranks at the end of each day.

pub mod list;
pub mod view;
