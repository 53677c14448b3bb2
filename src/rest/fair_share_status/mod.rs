//! Factors and ranks (§6, §7).

pub mod get;
pub mod view;
