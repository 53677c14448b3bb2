//! The rules of fair share, pure: no I/O, no clock, no randomness.
//! Section marks name their page: `FAIR_SHARE §5` is in `docs/FAIR_SHARE.md`, `DIVISION §6` in `docs/DIVISION.md`.

pub mod bucket;
pub mod capacity;
pub mod changes;
pub mod decay;
pub mod decimal;
pub mod defaults;
pub mod division;
pub mod factor;
pub mod fault;
pub mod filter;
mod flat;
pub mod hierarchy;
pub mod identity;
pub mod ids;
pub mod kernel;
pub mod ledger;
pub mod maps;
pub mod names;
pub mod normalize;
pub mod options;
pub mod outstanding;
mod packed;
pub mod quantity;
pub mod queues;
pub mod ranking;
pub mod reading;
pub mod reclaim;
pub mod run_times;
pub mod schemas;
pub mod sequencer;
pub mod shards;
pub mod slice;
pub mod slots;
pub mod status;
pub mod time;
pub mod weight;
