//! Who changed what, when and why.

pub mod list;
pub mod view;
