//! The usage of owners next to their entitlements by weight (FAIR_SHARE §11).

pub mod get;
pub mod history;
pub mod view;
