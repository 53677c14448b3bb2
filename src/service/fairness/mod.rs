//! Compares the usage of all owners with their entitled shares (FAIR_SHARE §11): now, and day by day.

pub mod days;
pub mod report;
mod usage;
pub mod window;
