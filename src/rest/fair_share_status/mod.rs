//! Factors and ranks (FAIR_SHARE §6, §7).

pub mod domains;
pub mod get;
pub mod projects;
pub mod tiers;
pub mod view;
