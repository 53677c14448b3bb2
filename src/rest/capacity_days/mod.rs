//! The capacity of a group on each day.

pub mod list;
pub mod put;
pub mod view;
