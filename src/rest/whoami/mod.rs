//! The key of the request.

pub mod get;
pub mod view;
