//! Downtimes that removed or extended usage (FAIR_SHARE §4).

pub mod list;
pub mod view;
