//! Domains: the first tier.

pub mod get;
pub mod list;
pub mod put;
pub mod view;
