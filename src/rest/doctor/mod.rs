//! The state of the installation, with what an administrator should look at.

pub mod get;
