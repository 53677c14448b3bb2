//! What was used in a range of days.

pub mod get;
pub mod several;
pub mod view;
