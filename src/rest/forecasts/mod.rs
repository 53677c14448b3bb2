//! The forecasts of a group as a whole.

pub mod get;
