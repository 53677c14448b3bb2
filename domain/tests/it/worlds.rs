//! Random groups after a run, and their order.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use domain::capacity::CapacityCalendar;
use domain::decay::RegisteredDecay;
use domain::decimal::Usage;
use domain::explain::comparison::{Candidate, Comparison, OuterCandidates};
use domain::explain::future::{FutureKeys, UnrecordedHistories};
use domain::explain::outlook::{OwnerOutlook, outlook};
use domain::factor::{DecayedHistory, Exponent, HistoryDecayer};
use domain::hierarchy::{Hierarchy, Share};
use domain::ids::{Member, Owner};
use domain::increments::UsageIncrements;
use domain::ledger::Ledger;
use domain::normalized_days::NormalizedDaysByOwner;
use domain::options::{FairShareOptions, FairshareOrder};
use domain::slots::{SlotAmounts, SlotName, SlotUsages};
use domain::time::{Day, MICROS_PER_HOUR};
use domain::usage_dimensions::UsageDimensions;
use domain::weight::Weight;

use crate::support::dice::Dice;
use crate::support::{amounts, member};
pub const TODAY: Day = Day(20_000);

/// A group after its last run.
pub struct World {
    pub options: FairShareOptions,
    pub ledger: Ledger,
    pub hierarchy: Hierarchy,
}

pub fn below(dice: &mut Dice, sides: u64) -> i64 {
    i64::try_from(dice.roll(sides)).unwrap()
}

/// Users, their projects and the domains of these; numbers stand for ids.
struct People {
    domains: Vec<Arc<str>>,
    members: Vec<Member>,
}

fn people(dice: &mut Dice) -> People {
    let domains = (0..=below(dice, 3)).map(|n| Arc::from(format!("d{n}"))).collect();
    let projects = u128::try_from(below(dice, 4) + 1).unwrap();
    let mut members: Vec<Member> = (0..=below(dice, 8))
        .map(|n| member(u128::try_from(n).unwrap(), u128::try_from(below(dice, 100)).unwrap() % projects))
        .collect();
    members.dedup();
    People { domains, members }
}

fn home<'a>(people: &'a People, member: &Member) -> &'a Arc<str> {
    let number = usize::try_from(member.project.0.as_u128()).unwrap();
    &people.domains[number % people.domains.len()]
}

fn weight(dice: &mut Dice) -> Option<Weight> {
    (below(dice, 3) > 0).then(|| {
        Weight::from_ten_thousandths([2_500, 5_000, 10_000, 20_000, 33_333][usize::try_from(below(dice, 5)).unwrap()])
            .unwrap()
    })
}

impl World {
    fn random(seed: u64, decay: &str, order: FairshareOrder, most_days: u64) -> Self {
        let mut dice = Dice::seeded(seed);
        let number = |value: i64| u32::try_from(value).unwrap();
        let lookback_days = number(below(&mut dice, 40) + 1);
        let options = FairShareOptions {
            half_life_days: number(below(&mut dice, 9) + 1),
            lookback_days,
            decay_unit_days: number(below(&mut dice, most_days) + 1).min(lookback_days),
            resource_weights: if below(&mut dice, 2) == 0 {
                SlotAmounts::default()
            } else {
                amounts(&[("cpu", "2"), ("mem", "0.5")])
            },
            decay: RegisteredDecay::from_str(decay).unwrap(),
            order,
            ..FairShareOptions::default()
        };
        let people = people(&mut dice);
        let mut ledger = Ledger::new(CapacityCalendar::default(), Day(0));
        let mut given = BTreeMap::new();
        for age in 0..60 {
            let cpu = 10 + below(&mut dice, 3);
            given.insert(TODAY.plus(-age), amounts(&[("cpu", &cpu.to_string()), ("mem", "64")]));
        }
        ledger.give_capacities(given);
        let mut hierarchy = Hierarchy::default();
        for name in &people.domains {
            hierarchy.put_domain(name, Share::new(weight(&mut dice), DecayedHistory::default()));
        }
        let mut added = UsageIncrements::default();
        for member in &people.members {
            let domain = home(&people, member);
            if !hierarchy.projects().contains_key(&member.project) {
                hierarchy.put_project(member.project, domain, Share::new(weight(&mut dice), DecayedHistory::default()));
            }
            hierarchy.put_user(*member, Share::new(weight(&mut dice), DecayedHistory::default()));
            for _ in 0..below(&mut dice, 12) {
                let slots = amounts(&[
                    ("cpu", &(below(&mut dice, 4) + 1).to_string()),
                    ("mem", &below(&mut dice, 9).to_string()),
                ]);
                // Few lengths, so that some are equal.
                let micros = (below(&mut dice, 5) + 1) * MICROS_PER_HOUR;
                let day = TODAY.plus(-i32::try_from(below(&mut dice, 45)).unwrap());
                let dimensions = UsageDimensions::of_domain(Arc::clone(domain));
                added.add(*member, &dimensions, day, &slots.for_micros(micros.unsigned_abs()));
            }
        }
        let mut world = Self { options, ledger, hierarchy };
        world.book(added);
        world
    }

    /// Applies a run that records `added`.
    pub fn book(&mut self, added: UsageIncrements) {
        assert!(
            self.ledger.apply(&added.into_sums(), self.options.decay_unit_days, None).is_empty()
                || self.options.decay_unit_days > 1
        );
        self.ledger.settle_capacities();
        self.hierarchy = self.on(TODAY);
    }

    fn decayer(&self, day: Day) -> HistoryDecayer<'_> {
        HistoryDecayer::new(&self.options, day)
    }

    /// The result of a run on that day, if nothing else is recorded.
    pub fn on(&self, day: Day) -> Hierarchy {
        let mut hierarchy = self.hierarchy.clone();
        let decayer = self.decayer(day);
        hierarchy.take_all_histories(|owner| self.ledger.history(owner, &decayer));
        hierarchy.weigh(self.options.default_weight);
        hierarchy
    }

    pub fn normalized_days(&self) -> NormalizedDaysByOwner {
        self.ledger.normalized_days(&self.decayer(TODAY))
    }

    pub fn members(&self) -> Vec<Member> {
        self.hierarchy.users().keys().copied().collect()
    }

    /// The capacity of today.
    pub fn capacity(&self) -> Arc<SlotAmounts> {
        self.ledger.calendar().get(TODAY).map(|day| Arc::clone(&day.capacity)).unwrap()
    }

    /// The group if the member had used this much more of a slot today.
    pub fn with_more(&self, member: Member, name: SlotName, usage: Usage) -> Self {
        let usage: SlotUsages = std::iter::once((name, usage)).collect();
        let mut added = UsageIncrements::default();
        let domain = Arc::clone(&self.hierarchy.projects()[&member.project].0);
        added.add(member, &UsageDimensions::of_domain(domain), TODAY, &usage);
        let (options, ledger, hierarchy) = (self.options.clone(), self.ledger.clone(), self.hierarchy.clone());
        let mut after = Self { options, ledger, hierarchy };
        after.book(added);
        after
    }

    pub fn contest(&self) -> Comparison {
        let normalized_days = self.normalized_days();
        let entrant = |owner: Owner, share: &Share| Candidate {
            normalized_days: normalized_days.get(&owner).cloned().unwrap_or_default(),
            weight: share.effective_weight,
            exponent: share.exponent,
        };
        let h = &self.hierarchy;
        let projects: Vec<_> = h.projects().iter().collect();
        let domains: Vec<_> = h.domains().iter().collect();
        let place = |member: &Member| projects.iter().position(|(id, _)| **id == member.project).unwrap();
        let outer = || OuterCandidates {
            within: h.users().keys().map(|m| u32::try_from(place(m)).unwrap()).collect(),
            domain_of: projects
                .iter()
                .map(|(_, (name, _))| u32::try_from(domains.iter().position(|(d, _)| *d == name).unwrap()).unwrap())
                .collect(),
            projects: projects.iter().map(|(id, (_, share))| entrant(Owner::Project(**id), share)).collect(),
            domains: domains.iter().map(|(name, share)| entrant(Owner::Domain(Arc::clone(name)), share)).collect(),
        };
        Comparison {
            entrants: h.users().iter().map(|(member, share)| entrant(Owner::User(*member), share)).collect(),
            outer: (self.options.order == FairshareOrder::Tiered).then(outer),
        }
    }

    pub fn outlook(&self, at: usize) -> OwnerOutlook {
        let contest = self.contest();
        let future = FutureKeys::of(&contest, &self.options, TODAY);
        let normalized_days = Arc::clone(&contest.entrants[at].normalized_days);
        outlook(&contest, &future, &UnrecordedHistories::default(), at, &normalized_days)
    }
}

/// The exponents that the sequencer compares.
pub fn keys(hierarchy: &Hierarchy, member: &Member, order: FairshareOrder) -> [Exponent; 3] {
    let user = hierarchy.users()[member].exponent;
    let (domain, project) = &hierarchy.projects()[&member.project];
    match order {
        FairshareOrder::Flat => [Exponent::ZERO, Exponent::ZERO, user],
        FairshareOrder::Tiered => [hierarchy.domains()[domain].exponent, project.exponent, user],
    }
}

pub fn place(hierarchy: &Hierarchy, member: &Member, order: FairshareOrder) -> u32 {
    let own = keys(hierarchy, member, order);
    1 + u32::try_from(hierarchy.users().keys().filter(|other| keys(hierarchy, other, order) < own).count()).unwrap()
}

/// Every decay kind and order, many random groups each, with buckets of up to three days.
pub fn worlds(cases: u64, check: impl Fn(World, u64)) {
    worlds_of(cases, 3, check);
}

/// [`worlds`] with buckets of up to `most_days` days.
pub fn worlds_of(cases: u64, most_days: u64, check: impl Fn(World, u64)) {
    for decay in RegisteredDecay::choices().iter().map(|decay| decay.name) {
        for order in [FairshareOrder::Flat, FairshareOrder::Tiered] {
            for seed in 0..cases {
                check(World::random(seed, decay, order, most_days), seed);
            }
        }
    }
}
