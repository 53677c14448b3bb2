//! How far what everyone used is from what weights entitle them to (FAIR_SHARE §11): now, and day by day.

pub mod days;
pub mod report;
mod usage;
pub mod window;
