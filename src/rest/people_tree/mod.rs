//! The tree of people that a connector brings.

pub mod put;
pub mod view;
