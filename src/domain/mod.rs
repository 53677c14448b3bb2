//! The rules of fair share, pure: no I/O, no clock, no randomness.
//! Section numbers (`§5`) cite the fair-share semantics in `docs/FAIR_SHARE.md`.

pub mod bucket;
pub mod capacity;
pub mod changes;
pub mod decay;
pub mod decimal;
pub mod defaults;
pub mod division;
pub mod factor;
pub mod filter;
pub mod hierarchy;
pub mod identity;
pub mod ids;
pub mod kernel;
pub mod ledger;
pub mod names;
pub mod normalize;
pub mod options;
pub mod quantity;
pub mod queues;
pub mod reading;
pub mod reclaim;
mod schemas;
pub mod sequencer;
pub mod slice;
pub mod slots;
pub mod status;
pub mod time;
pub mod weight;
mod written;
