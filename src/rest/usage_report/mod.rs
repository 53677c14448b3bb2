//! The usage over a range of days.

pub mod get;
pub mod several;
pub mod view;
