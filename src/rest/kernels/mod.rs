//! Kernels in, kernels out.

mod batches;
pub mod get;
pub mod list;
pub mod post;
pub mod view;
