//! By what the shares of a report are measured: what each slot counts, and what weights say of those who used something.

use crate::domain::ids::Member;
use crate::domain::maps::{FastMap, FastSet};
use crate::domain::normalize::Normalizer;
use crate::domain::slots::Amounts;
use crate::domain::usage_report::{Block, Scale};
use crate::service::VisibleGroup;

/// The scale of one group and one period, in which the group offered `capacity` on average.
pub fn scale(group: &VisibleGroup, capacity: &Amounts, block: &Block) -> Scale {
    Scale { normalizer: Normalizer::new(capacity, &group.options.resource_weights), entitled: entitled(group, block) }
}

/// What part of the group weights give to each member that used something, among all that did.
fn entitled(group: &VisibleGroup, block: &Block) -> FastMap<Member, f64> {
    let used: FastSet<Member> = block.iter().filter(|place| !place.2.is_zero()).map(|place| place.0).collect();
    let entitlements = group.published().entitlements();
    let active: Vec<bool> = entitlements.users.iter().map(|row| used.contains(&row.member)).collect();
    let tiers = entitlements.tree.entitled(&active);
    let of_users = tiers.last().map(|users| users.of_group.as_slice()).unwrap_or_default();
    let parts = entitlements.users.iter().zip(of_users).filter(|(row, _)| used.contains(&row.member));
    parts.map(|(row, part)| (row.member, *part)).collect()
}
