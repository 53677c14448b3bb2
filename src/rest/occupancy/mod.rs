//! The slots that running kernels hold now, and those that are free.

pub mod get;
