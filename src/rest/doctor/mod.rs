//! What an administrator should look at.

pub mod get;
