//! Nodes of a resource group; together they are its capacity.

pub mod delete;
pub mod list;
pub mod put;
pub mod put_many;
pub mod view;
