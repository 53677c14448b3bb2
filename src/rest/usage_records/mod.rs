//! The usage records of single kernels.

pub mod list;
pub mod view;
