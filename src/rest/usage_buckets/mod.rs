//! Usage history (§5).

pub mod list;
pub mod view;
