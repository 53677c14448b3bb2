//! Downtimes that cost or stretched usage (§4).

pub mod list;
pub mod view;
