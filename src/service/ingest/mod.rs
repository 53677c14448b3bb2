//! Kernels on their way in: what a scheduler sends, how it is checked, merged and stored, and ends that no report names.

pub mod batch;
pub mod earlier;
pub mod foreign_owners;
pub mod homes;
pub mod incoming;
pub mod inferred;
pub mod merging;
pub mod mistakes;
pub mod newcomers;
pub mod registration;
