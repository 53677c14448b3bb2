//! The scheduler of a resource group and its options (FAIR_SHARE §8).

pub mod get;
pub mod patch;
pub mod view;
