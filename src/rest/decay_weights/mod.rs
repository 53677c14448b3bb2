//! How much usage of each age counts in a resource group.

pub mod get;
