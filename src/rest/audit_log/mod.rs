//! The audit log: each change with its caller, time and reason.

pub mod list;
pub mod undo;
pub mod view;
