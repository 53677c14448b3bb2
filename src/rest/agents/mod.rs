//! The agents (nodes) of a resource group. Their slots together are its capacity.

pub mod delete;
pub mod list;
pub mod put;
pub mod put_many;
pub mod view;
