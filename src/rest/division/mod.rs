//! The division of capacity among queues (`docs/DIVISION.md`).

pub mod get;
pub mod history;
pub mod simulate;
pub mod view;
