//! One resource group: its working state, the transaction that changes it, and the snapshot of it that readers see.

pub(in crate::service) mod agent_slots;
pub(in crate::service) mod arrivals;
pub(in crate::service) mod calculate;
pub mod changes;
mod commit;
pub(in crate::service) mod fork;
pub(in crate::service) mod live_kernels;
pub(in crate::service) mod locked;
mod normalized_days;
pub(in crate::service) mod reported;
pub mod revision;
mod shared;
pub mod snapshots;
pub(in crate::service) mod state;
pub(in crate::service) mod transaction;
pub mod visible;
pub mod warnings;
