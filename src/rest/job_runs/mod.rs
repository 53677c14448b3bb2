//! What ran, when, and with which result.

pub mod list;
