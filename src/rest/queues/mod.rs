//! The queues of a resource group: what each deserves, and how they hang together.

pub mod delete;
pub mod get;
pub mod list;
pub mod put;
pub mod put_many;
pub mod view;
