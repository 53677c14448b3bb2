//! Compares what each domain, project and user used with what it is entitled to (FAIR_SHARE §11). Everything here takes
//! plain numbers, so that it also works for hypothetical states, such as a replay.

mod asking;
mod days;
mod filling;
mod index;
mod report;
mod tree;

pub use asking::PendingCounts;
pub use days::{Days, LENGTHS};
pub use filling::{Claimant, fill};
pub use index::jains_index;
pub use report::{Received, TierReport, Use, report};
pub use tree::{Entity, Shares, Tree};
