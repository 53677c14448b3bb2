//! Domains: the first tier of the hierarchy.

pub mod get;
pub mod list;
pub mod put;
pub mod view;
