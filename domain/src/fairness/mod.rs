//! Compares what each domain, project and user used with what it is entitled to (FAIR_SHARE §11). Everything here takes
//! plain numbers, so that it also works for hypothetical states, such as a replay.

mod days;
mod filling;
mod index;
mod pending_counts;
mod report;
mod tree;

pub use days::{DaySpan, SPAN_DAYS};
pub use filling::{WeightedClaimant, fill};
pub use index::jains_index;
pub use pending_counts::PendingCounts;
pub use report::{MemberUsage, ReceivedShare, TierReport, report};
pub use tree::{EntityTree, FairnessEntity, TierShares};
