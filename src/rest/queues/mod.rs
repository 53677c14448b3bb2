//! The queues of a resource group, among which its capacity is divided.

pub mod delete;
pub mod get;
pub mod list;
pub mod put;
pub mod put_many;
pub mod view;
