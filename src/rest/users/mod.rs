//! Users, in all their projects.

pub mod get;
pub mod list;
pub mod put;
pub mod view;
