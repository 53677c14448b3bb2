//! The configuration of a resource group as one document: weights and queues, by names.

pub mod changes;
pub mod get;
mod names;
pub mod put;
mod queue_entry;
pub mod view;
mod wanted_configuration;
