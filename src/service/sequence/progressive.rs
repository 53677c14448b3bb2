//! The progressive order of pending workloads (FAIR_SHARE §10).

use std::ops::Range;

use super::{Charged, Ordered, PendingWorkload, PlacedWorkload, workloads};
use crate::domain::ids::Member;
use crate::domain::maps::FastMap;
use crate::domain::parallel;
use crate::domain::sequencer::progressive::{self, Charge, GroupAccounts, Homes, Tariff};
use crate::domain::sequencer::{Growing, Standings};
use crate::domain::slots::Usages;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::group::published::facts::Facts;

/// What is to be put in order, and how much of it is to be told.
pub(super) struct Asked<'a, 'p> {
    pub workloads: Vec<PendingWorkload<'a>>,
    /// Theirs, one by one.
    pub owners: Vec<Member>,
    /// What has started and is not among the kernels yet.
    pub placed: Vec<(Member, &'p PlacedWorkload<'a>)>,
    pub homes: Homes,
    pub most: usize,
    /// Whether to say why each waits.
    pub explain: bool,
}

impl<'a> Asked<'a, '_> {
    /// The workloads, the positions of the first of them, and what those are charged.
    pub fn order(self, facts: &Facts, growing: Growing, now: Timestamp) -> Ordered<'a> {
        match growing {
            Growing::Usage => self.by_usage(facts, now),
            Growing::DominantShare => self.by_dominant_share(facts),
        }
    }

    fn by_usage(self, facts: &Facts, now: Timestamp) -> Ordered<'a> {
        let Self { workloads: pending, owners, placed, homes, most, explain } = self;
        let mut accounts = GroupAccounts::new(facts, &homes, &owners, now);
        for (owner, entry) in placed {
            accounts.place(owner, entry.requested_slots.as_deref(), entry.expected_seconds);
        }
        let charge = |(w, owner): (&PendingWorkload, &Member)| {
            accounts.charge(*owner, w.requested_slots.as_deref(), w.expected_seconds)
        };
        let charges = |part: Range<usize>| -> Vec<Charge> {
            pending[part.clone()].iter().zip(&owners[part]).map(charge).collect()
        };
        let charges = parallel::parts(pending.len(), charges).concat();
        let workloads = workloads(pending, owners);
        let turns = progressive::order(facts.options.order, &workloads, &charges, &accounts, most);
        let charged = turns.iter().map(|turn| Charged { charge: turn.charge, factor_after: turn.factor_after });
        let charged = charged.collect();
        let order: Vec<u32> = turns.into_iter().map(|turn| turn.at).collect();
        let mut decisions = Vec::new();
        if explain {
            decisions = progressive::decisions(facts.options.order, &workloads, &charges, &accounts, &order);
        }
        Ordered { workloads, order, charged, decisions }
    }

    /// Usage costs nothing here: what counts is what is occupied.
    fn by_dominant_share(self, facts: &Facts) -> Ordered<'a> {
        let Self { workloads: pending, owners, placed, most, explain, .. } = self;
        let tariff = Tariff::new(&facts.today, &facts.options);
        let second = MICROS_PER_SECOND.unsigned_abs();
        let request = |slots: Option<&_>| tariff.asked(slots).for_micros(second);
        let mut started = FastMap::<_, Usages>::default();
        for (owner, entry) in placed {
            started.entry(owner.user).or_default().add(&request(entry.requested_slots.as_deref()));
        }
        let requests: Vec<Usages> = pending.iter().map(|w| request(w.requested_slots.as_deref())).collect();
        let workloads = workloads(pending, owners);
        let share = |user, more: &Usages| match started.get(&user) {
            None => facts.dominant_share_with(user, more),
            Some(started) => {
                let mut sum = started.clone();
                sum.add(more);
                facts.dominant_share_with(user, &sum)
            }
        };
        let order = progressive::dominant_order(&workloads, &requests, share, most);
        let mut decisions = Vec::new();
        if explain {
            decisions = progressive::dominant_decisions(&workloads, &requests, share, &order);
        }
        Ordered { workloads, order, charged: Vec::new(), decisions }
    }
}
