//! The unrecorded usage of running kernels, and their expected usage.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::explain::count::ContributionScale;
use crate::domain::ids::{Member, Owner};
use crate::domain::maps::FastMap;
use crate::domain::normalized_days::{NormalizedDays, with_usage};
use crate::domain::outstanding::RequestMoment;
use crate::domain::run_times::ExpectedRuntime;
use crate::domain::slots::SlotUsages;
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;

/// Unrecorded usage by owner and day.
pub(super) struct UnrecordedSums(FastMap<Owner, BTreeMap<Day, SlotUsages>>);

fn moment(facts: &GroupSnapshotData, now: Timestamp) -> RequestMoment {
    RequestMoment { since: facts.options.window_start(now.day()).start(), now }
}

/// The domain, project or user of the tier that a member's usage counts for.
fn counts_for(facts: &GroupSnapshotData, member: Member, tier: Tier) -> Option<Owner> {
    match tier {
        Tier::Domain => Some(Owner::Domain(Arc::clone(&facts.rows.project(member.project)?.domain_name))),
        Tier::Project => Some(Owner::Project(member.project)),
        Tier::User => Some(Owner::User(member)),
    }
}

impl UnrecordedSums {
    /// The unrecorded usage of all owners in these tiers.
    pub fn of(facts: &GroupSnapshotData, tiers: &[Tier], now: Timestamp) -> Self {
        let mut sums: FastMap<Owner, BTreeMap<Day, SlotUsages>> = FastMap::default();
        let moment = moment(facts, now);
        for member in facts.outstanding.owners() {
            let owners: Vec<Owner> = tiers.iter().filter_map(|tier| counts_for(facts, member, *tier)).collect();
            facts.outstanding.unrecorded_by_day(member, moment, |day, usage| {
                for owner in &owners {
                    sums.entry(owner.clone()).or_default().entry(day).or_default().add(usage);
                }
            });
        }
        Self(sums)
    }

    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.0.keys()
    }

    /// The owner's usage history after its unrecorded usage is recorded.
    pub fn normalized_days(
        &self,
        owner: &Owner,
        normalized_days: &NormalizedDays,
        facts: &GroupSnapshotData,
    ) -> NormalizedDays {
        let mut grown = Arc::clone(normalized_days);
        for (day, usage) in self.0.get(owner).into_iter().flatten() {
            let scale = ContributionScale { options: &facts.options, today: *day };
            let normalized = scale.count(*day, usage, &facts.today).normalized_usage;
            grown = with_usage(&grown, *day, facts.options.decay_unit_days, normalized);
        }
        grown
    }
}

/// The unrecorded usage of one owner's kernels, and their expected usage.
pub(super) struct OpenKernelUsage {
    pub unrecorded: SlotUsages,
    pub committed: SlotUsages,
}

impl OpenKernelUsage {
    pub fn of(facts: &GroupSnapshotData, owner: &Owner, now: Timestamp) -> Self {
        let mut beside = Self { unrecorded: SlotUsages::default(), committed: SlotUsages::default() };
        match owner {
            Owner::User(member) => beside.add(facts, *member, now),
            Owner::Project(_) | Owner::Domain(_) => {
                let tier = if matches!(owner, Owner::Project(_)) { Tier::Project } else { Tier::Domain };
                let members = facts.outstanding.owners();
                members
                    .filter(|member| counts_for(facts, *member, tier).as_ref() == Some(owner))
                    .for_each(|member| beside.add(facts, member, now));
            }
        }
        beside
    }

    fn add(&mut self, facts: &GroupSnapshotData, member: Member, now: Timestamp) {
        let own = facts.rows.user(member).map(|row| row.share.run_times()).unwrap_or_default();
        let expected = ExpectedRuntime::new(own, facts.run_times, &facts.options);
        self.unrecorded.add(&facts.outstanding.unrecorded(member, moment(facts, now)));
        self.committed.add(&facts.outstanding.committed(member, now, expected));
    }
}
