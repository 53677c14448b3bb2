//! Downtimes that cost or stretched usage (FAIR_SHARE §4).

pub mod list;
pub mod view;
