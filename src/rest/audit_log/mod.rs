//! Who changed what, when and why.

pub mod list;
pub mod undo;
pub mod view;
