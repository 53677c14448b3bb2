//! The state of the installation, and problems that an administrator should look at.

pub mod get;
