//! Nodes of a resource group; together they are its capacity.

pub mod delete;
pub mod list;
pub mod put;
pub mod view;
