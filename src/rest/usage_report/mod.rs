//! The usage over a range of days.

pub mod get;
pub mod report_groups;
pub mod view;
