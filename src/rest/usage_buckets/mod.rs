//! Usage history (FAIR_SHARE §5).

pub mod list;
pub mod view;
