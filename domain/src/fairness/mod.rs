//! What each domain, project and user is entitled to, and how far what they used is from that (FAIR_SHARE §11). Everything
//! here takes plain numbers, so that it answers for states that are only thought of as well.

mod asking;
mod days;
mod filling;
mod index;
mod report;
mod tree;

pub use asking::Asking;
pub use days::{Days, LENGTHS};
pub use filling::{Claimant, fill};
pub use index::jains_index;
pub use report::{Received, TierReport, Use, report};
pub use tree::{Entity, Shares, Tree};
