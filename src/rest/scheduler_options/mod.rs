//! How a resource group orders and accounts (FAIR_SHARE §8).

pub mod get;
pub mod patch;
pub mod view;
