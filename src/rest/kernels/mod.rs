//! Reports of kernels, and lists of them.

mod batches;
pub mod get;
pub mod list;
pub mod lookup;
pub mod post;
mod rejections;
mod row_counting;
mod rows;
pub mod snapshot;
pub mod view;
