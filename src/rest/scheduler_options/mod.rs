//! How a resource group orders and accounts (§8 of the fair-share rules).

pub mod get;
pub mod patch;
pub mod view;
