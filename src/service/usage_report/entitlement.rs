//! The measures of shares in a report: the normalisation of slots, and the entitled shares among members with usage.

use crate::domain::ids::Member;
use crate::domain::maps::{FastMap, FastSet};
use crate::domain::normalize::UsageNormalizer;
use crate::domain::slots::SlotAmounts;
use crate::domain::usage_report::{ShareScale, UsageBlock};
use crate::service::VisibleGroup;

/// The scale for one group and one period. `capacity` is the mean capacity in the period.
pub fn scale(group: &VisibleGroup, capacity: &SlotAmounts, block: &UsageBlock) -> ShareScale {
    ShareScale {
        normalizer: UsageNormalizer::new(capacity, &group.options.resource_weights),
        entitled: entitled_shares(group, block),
    }
}

/// The entitled share of each member with usage, among all members with usage.
fn entitled_shares(group: &VisibleGroup, block: &UsageBlock) -> FastMap<Member, f64> {
    let used: FastSet<Member> = block.iter().filter(|place| !place.2.is_zero()).map(|place| place.0).collect();
    let entitlements = group.published().entitlements();
    let active: Vec<bool> = entitlements.users.iter().map(|row| used.contains(&row.member)).collect();
    let tiers = entitlements.tree.entitled(&active);
    let of_users = tiers.last().map(|users| users.of_group.as_slice()).unwrap_or_default();
    let parts = entitlements.users.iter().zip(of_users).filter(|(row, _)| used.contains(&row.member));
    parts.map(|(row, part)| (row.member, *part)).collect()
}
