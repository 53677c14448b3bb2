//! Usage of years gone by that was brought from elsewhere.

pub mod delete;
pub mod list;
pub mod put;
pub mod view;
