//! One resource group: its working state, the transaction that changes it, and the snapshot of it that readers see.

pub(crate) mod agent_slots;
pub(crate) mod arrivals;
pub(crate) mod calculate;
pub mod changes;
mod commit;
pub(crate) mod fork;
pub(crate) mod live_kernels;
pub(crate) mod locked;
mod normalized_days;
pub(crate) mod publish;
pub(crate) mod reported;
pub mod revision;
mod shared;
pub mod snapshots;
pub(crate) mod state;
pub(crate) mod transaction;
pub mod warnings;
