//! The tree of people that a connector brings.

pub mod get;
pub mod put;
pub mod view;
