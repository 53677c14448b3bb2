//! Projects: the second tier, each in one domain at a time.

pub mod get;
pub mod list;
pub mod put;
pub mod view;
