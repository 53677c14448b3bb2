//! One resource group: its working state, the session that changes it, and the picture of it that readers see.

pub mod changes;
mod commit;
pub(in crate::service) mod live_kernels;
pub mod published;
pub(in crate::service) mod session;
pub(in crate::service) mod state;
pub mod visible;
pub mod warnings;
