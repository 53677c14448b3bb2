//! `fairshared doctor`: what is wrong with an installation, and what to do.

mod address;
mod command;
mod database;
mod key;
mod skew;

pub use command::Doctor;
