//! Takes kernels from schedulers: checks, merges and stores reports, and infers ends that no report names.

mod archived_owners;
pub mod batch;
pub mod domain_assignment;
pub mod earlier;
pub mod foreign_owners;
pub mod incoming;
pub mod inferred;
pub mod merging;
pub mod mistakes;
pub mod newcomers;
pub mod registration;
