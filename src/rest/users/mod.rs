//! Users, in whatever projects.

pub mod get;
pub mod list;
pub mod put;
pub mod view;
