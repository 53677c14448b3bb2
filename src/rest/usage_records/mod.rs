//! What was recorded of single kernels.

pub mod list;
pub mod view;
