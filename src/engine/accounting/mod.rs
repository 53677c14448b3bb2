//! Accounting turns kernels into usage: runs record usage and fold it into buckets, and an audit proves that nothing is
//! lost.

pub mod compaction;
pub mod conservation;
pub(crate) mod day_totals;
mod day_usage;
pub mod difference;
pub(crate) mod folding;
mod future_records;
mod placement;
pub mod purge;
mod recalculation;
mod recount;
pub mod run;
pub(crate) mod shorter_lookback;
mod snapshot_audit;
mod source;
