//! `fairshared doctor`: finds faults of an installation, and says what to do.

mod address;
mod command;
mod database;
mod key;
mod skew;

pub use command::DoctorArgs;
