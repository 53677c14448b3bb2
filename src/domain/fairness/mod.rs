//! What each domain, project and user is entitled to, and how far what they used is from that (FAIR_SHARE §11). Everything
//! here takes plain numbers, so that it answers for states that are only thought of as well.

mod asking;
mod filling;
mod index;
mod recent;
mod report;
mod tree;

pub use asking::Asking;
pub use filling::{Claimant, fill};
pub use index::jains_index;
pub use recent::{Days, LENGTHS, Recent};
pub use report::{Received, TierReport, Use, report};
pub use tree::{Entity, Shares, Tree};
