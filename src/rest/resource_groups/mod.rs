//! Resource groups: independent scheduling domains.

pub mod delete;
pub mod get;
pub mod list;
pub mod put;
pub mod view;
