//! Explanations (FAIR_SHARE §12) against the engine: what they print redoes the number, and what they foretell comes true.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use fairshared::domain::capacity::CapacityCalendar;
use fairshared::domain::decay::Decay;
use fairshared::domain::explain::contest::{Contest, Entrant, Outer};
use fairshared::domain::explain::count::Scale;
use fairshared::domain::explain::exact;
use fairshared::domain::explain::future::{Future, Unrecorded};
use fairshared::domain::explain::outlook::{Outlook, outlook};
use fairshared::domain::explain::reach::{Own, cost, in_slots};
use fairshared::domain::explain::words::ordinal;
use fairshared::domain::factor::{Decayer, Exponent, History, fair_share_factor};
use fairshared::domain::hierarchy::{Hierarchy, Share};
use fairshared::domain::ids::{Member, Owner};
use fairshared::domain::ledger::{Increments, Ledger};
use fairshared::domain::options::{Options, Order};
use fairshared::domain::slots::{Amounts, SlotName, Usages};
use fairshared::domain::time::{Day, MICROS_PER_HOUR, MICROS_PER_SECOND};
use fairshared::domain::trail::{Trail, Trails, with};
use fairshared::domain::weight::{EffectiveWeight, Weight};

use super::support::{amounts, member};
use crate::support::dice::Dice;

const TODAY: Day = Day(20_000);

/// A group after its last run.
struct World {
    options: Options,
    ledger: Ledger,
    hierarchy: Hierarchy,
}

fn below(dice: &mut Dice, sides: u64) -> i64 {
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
    fn random(seed: u64, decay: &str, order: Order, most_days: u64) -> Self {
        let mut dice = Dice::seeded(seed);
        let number = |value: i64| u32::try_from(value).unwrap();
        let lookback_days = number(below(&mut dice, 40) + 1);
        let options = Options {
            half_life_days: number(below(&mut dice, 9) + 1),
            lookback_days,
            decay_unit_days: number(below(&mut dice, most_days) + 1).min(lookback_days),
            resource_weights: if below(&mut dice, 2) == 0 {
                Amounts::default()
            } else {
                amounts(&[("cpu", "2"), ("mem", "0.5")])
            },
            decay: Decay::from_str(decay).unwrap(),
            order,
            ..Options::default()
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
            hierarchy.put_domain(name, Share::new(weight(&mut dice), History::default()));
        }
        let mut added = Increments::default();
        for member in &people.members {
            let domain = home(&people, member);
            if !hierarchy.projects().contains_key(&member.project) {
                hierarchy.put_project(member.project, domain, Share::new(weight(&mut dice), History::default()));
            }
            hierarchy.put_user(*member, Share::new(weight(&mut dice), History::default()));
            for _ in 0..below(&mut dice, 12) {
                let slots = amounts(&[
                    ("cpu", &(below(&mut dice, 4) + 1).to_string()),
                    ("mem", &below(&mut dice, 9).to_string()),
                ]);
                // Few lengths, so that some are equal.
                let micros = (below(&mut dice, 5) + 1) * MICROS_PER_HOUR;
                let day = TODAY.plus(-i32::try_from(below(&mut dice, 45)).unwrap());
                added.add(*member, domain, day, &slots.for_micros(micros.unsigned_abs()));
            }
        }
        let mut world = Self { options, ledger, hierarchy };
        world.book(&added);
        world
    }

    /// A run that records this.
    fn book(&mut self, added: &Increments) {
        assert!(
            self.ledger.apply(added, self.options.decay_unit_days, None).is_empty() || self.options.decay_unit_days > 1
        );
        self.ledger.settle_capacities();
        self.hierarchy = self.on(TODAY);
    }

    fn decayer(&self, day: Day) -> Decayer<'_> {
        Decayer::new(&self.options, day)
    }

    /// What a run on that day calculates, if nothing else is recorded.
    fn on(&self, day: Day) -> Hierarchy {
        let mut hierarchy = self.hierarchy.clone();
        let decayer = self.decayer(day);
        hierarchy.take_all_histories(|owner| self.ledger.history(owner, &decayer));
        hierarchy.weigh(self.options.default_weight);
        hierarchy
    }

    fn trails(&self) -> Trails {
        self.ledger.trails(&self.decayer(TODAY))
    }

    fn members(&self) -> Vec<Member> {
        self.hierarchy.users().keys().copied().collect()
    }

    /// What today offers.
    fn capacity(&self) -> Arc<Amounts> {
        self.ledger.calendar().get(TODAY).map(|day| Arc::clone(&day.capacity)).unwrap()
    }

    /// What it would be if the member had used so many seconds of a slot more today.
    fn with_more(&self, member: Member, name: SlotName, seconds: f64) -> Self {
        let usage: Usages = std::iter::once((name, format!("{seconds:.9}").parse().unwrap())).collect();
        let mut added = Increments::default();
        added.add(member, &self.hierarchy.projects()[&member.project].0, TODAY, &usage);
        let (options, ledger, hierarchy) = (self.options.clone(), self.ledger.clone(), self.hierarchy.clone());
        let mut after = Self { options, ledger, hierarchy };
        after.book(&added);
        after
    }

    fn contest(&self) -> Contest {
        let trails = self.trails();
        let entrant = |owner: Owner, share: &Share| Entrant {
            trail: trails.get(&owner).cloned().unwrap_or_default(),
            weight: share.effective_weight,
            exponent: share.exponent,
        };
        let h = &self.hierarchy;
        let projects: Vec<_> = h.projects().iter().collect();
        let domains: Vec<_> = h.domains().iter().collect();
        let place = |member: &Member| projects.iter().position(|(id, _)| **id == member.project).unwrap();
        let outer = || Outer {
            within: h.users().keys().map(|m| u32::try_from(place(m)).unwrap()).collect(),
            domain_of: projects
                .iter()
                .map(|(_, (name, _))| u32::try_from(domains.iter().position(|(d, _)| *d == name).unwrap()).unwrap())
                .collect(),
            projects: projects.iter().map(|(id, (_, share))| entrant(Owner::Project(**id), share)).collect(),
            domains: domains.iter().map(|(name, share)| entrant(Owner::Domain(Arc::clone(name)), share)).collect(),
        };
        Contest {
            entrants: h.users().iter().map(|(member, share)| entrant(Owner::User(*member), share)).collect(),
            outer: (self.options.order == Order::Tiered).then(outer),
        }
    }

    fn outlook(&self, at: usize) -> Outlook {
        let contest = self.contest();
        let future = Future::of(&contest, &self.options, TODAY);
        let trail = Arc::clone(&contest.entrants[at].trail);
        outlook(&contest, &future, &Unrecorded::default(), at, &trail)
    }
}

/// What the sequencer compares.
fn keys(hierarchy: &Hierarchy, member: &Member, order: Order) -> [Exponent; 3] {
    let user = hierarchy.users()[member].exponent;
    let (domain, project) = &hierarchy.projects()[&member.project];
    match order {
        Order::Flat => [Exponent::ZERO, Exponent::ZERO, user],
        Order::Tiered => [hierarchy.domains()[domain].exponent, project.exponent, user],
    }
}

fn place(hierarchy: &Hierarchy, member: &Member, order: Order) -> u32 {
    let own = keys(hierarchy, member, order);
    1 + u32::try_from(hierarchy.users().keys().filter(|other| keys(hierarchy, other, order) < own).count()).unwrap()
}

/// Every decay kind and order, many random groups each, with buckets of up to three days.
fn worlds(cases: u64, check: impl Fn(World, u64)) {
    worlds_of(cases, 3, check);
}

/// The same with buckets of up to so many days.
fn worlds_of(cases: u64, most_days: u64, check: impl Fn(World, u64)) {
    for decay in Decay::names() {
        for order in [Order::Flat, Order::Tiered] {
            for seed in 0..cases {
                check(World::random(seed, decay, order, most_days), seed);
            }
        }
    }
}

#[test]
fn what_is_printed_redoes_the_number_to_the_last_digit() {
    worlds(60, |world, seed| {
        for owner in world.hierarchy.owners().collect::<Vec<_>>() {
            let share = world.hierarchy.share(&owner).unwrap();
            let recount = Scale { options: &world.options, today: TODAY }.recount(world.ledger.chain(&owner));
            // By hand, from the texts alone.
            let mut sum = 0.0;
            let weights = &world.options.resource_weights;
            for (bucket, count) in &recount.buckets {
                let (mut mean, mut all) = (0.0, 0.0);
                for (name, offered) in bucket.capacity.iter() {
                    let weight =
                        if weights.is_empty() { 1.0 } else { weights.get(name).unwrap().to_string().parse().unwrap() };
                    let day: f64 = offered.to_string().parse::<f64>().unwrap() * 86_400.0;
                    let used: f64 = bucket.usage.get(name).map_or(0.0, |used| used.to_string().parse().unwrap());
                    mean += used / day * weight;
                    all += weight;
                }
                // A decimal that is no double is rounded twice on its way here.
                assert!((mean / all - count.normalized_usage).abs() <= 1e-15 * count.normalized_usage, "{seed}");
                let decay: f64 = exact(count.decay_weight).parse().unwrap();
                sum += decay * exact(count.normalized_usage).parse::<f64>().unwrap();
            }
            let used = sum / f64::from(world.options.lookback_days);
            assert_eq!(used.to_bits(), share.history.normalized_usage.to_bits(), "{seed} {owner:?}");
            let divided: f64 = share.effective_weight.to_string().parse().unwrap();
            assert_eq!((-used / divided).exp2().to_bits(), share.fair_share_factor.to_bits(), "{seed} {owner:?}");
            let parts: f64 = recount.buckets.iter().map(|(_, count)| count.contribution).sum();
            assert!((parts - used).abs() <= 1e-15, "{parts} {used}");
        }
    });
}

#[test]
fn places_and_factors_change_on_the_days_that_are_foretold_and_on_no_others() {
    worlds(40, |world, seed| {
        let order = world.options.order;
        let last = world.options.lookback_days.min(32).cast_signed();
        let days: Vec<Hierarchy> = (0..=last).map(|ahead| world.on(TODAY.plus(ahead))).collect();
        for (at, member) in world.members().iter().enumerate() {
            let told = world.outlook(at);
            let on = |hierarchy: &Hierarchy| {
                let share = &hierarchy.users()[member];
                (
                    place(hierarchy, member, order),
                    share.fair_share_factor.to_bits(),
                    share.history.normalized_usage.to_bits(),
                )
            };
            assert_eq!((told.next_run.day, told.next_run.place), (TODAY, on(&days[0]).0));
            let mut changes = Vec::new();
            for (ahead, pair) in (1..).zip(days.windows(2)) {
                let (before, now) = (on(&pair[0]), on(&pair[1]));
                if (before.0, before.1) != (now.0, now.1) {
                    changes.push((TODAY.plus(ahead), now));
                }
            }
            let all = changes.len();
            changes.truncate(10);
            let found: Vec<_> = told
                .dates
                .iter()
                .map(|then| (then.day, (then.place, then.fair_share_factor.to_bits(), then.normalized_usage.to_bits())))
                .collect();
            assert_eq!(found, changes, "{seed} {member:?} {:?}", world.options);
            let until = if all >= 10 { changes[9].0 } else { TODAY.plus(last) };
            assert_eq!(told.until, until);
        }
    });
}

#[test]
fn usage_that_no_run_has_recorded_counts_as_if_it_were() {
    worlds_of(40, 1, |mut world, seed| {
        let mut dice = Dice::seeded(seed + 1_000);
        let capacity = world.ledger.calendar().get(TODAY).map(|day| Arc::clone(&day.capacity)).unwrap();
        let (contest, members) = (world.contest(), world.members());
        let mut added = Increments::default();
        let mut unrecorded = Unrecorded::default();
        let mut projects = BTreeMap::<usize, (Owner, f64)>::new();
        let mut domains = BTreeMap::<usize, (Owner, f64)>::new();
        let scale = Scale { options: &world.options, today: TODAY };
        for (at, member) in members.iter().enumerate() {
            if below(&mut dice, 2) == 0 {
                continue;
            }
            let usage =
                amounts(&[("cpu", "3")]).for_micros((below(&mut dice, 3_000) * MICROS_PER_SECOND).unsigned_abs());
            let domain = Arc::clone(&world.hierarchy.projects()[&member.project].0);
            added.add(*member, &domain, TODAY, &usage);
            let more = scale.count(TODAY, &usage, &capacity).normalized_usage;
            unrecorded.entrants.push((at, with(&contest.entrants[at].trail, TODAY, 1, more)));
            if let Some(outer) = &contest.outer {
                let project = outer.within[at] as usize;
                projects.entry(project).or_insert((Owner::Project(member.project), 0.0)).1 += more;
                domains.entry(outer.domain_of[project] as usize).or_insert((Owner::Domain(domain), 0.0)).1 += more;
            }
        }
        let trails = world.trails();
        let grown = |tier: BTreeMap<usize, (Owner, f64)>| -> Vec<(usize, Trail)> {
            tier.into_iter()
                .map(|(at, (owner, more))| (at, with(trails.get(&owner).map_or(&[][..], |t| t), TODAY, 1, more)))
                .collect()
        };
        unrecorded.projects = grown(projects);
        unrecorded.domains = grown(domains);
        let future = Future::of(&contest, &world.options, TODAY);
        let order = world.options.order;
        world.book(&added);
        for (at, member) in members.iter().enumerate() {
            let own = unrecorded.entrants.iter().find(|(other, _)| *other == at);
            let trail = own.map_or(&contest.entrants[at].trail, |(_, trail)| trail);
            let told = outlook(&contest, &future, &unrecorded, at, trail);
            for then in std::iter::once(&told.next_run).chain(&told.dates) {
                let really = world.on(then.day);
                assert_eq!(then.place, place(&really, member, order), "{seed} {member:?} {then:?}");
                let factor = really.users()[member].fair_share_factor;
                assert!((then.fair_share_factor - factor).abs() < 1e-14);
            }
        }
    });
}

fn with_weight(world: &World, member: &Member, weight: Weight) -> Hierarchy {
    let mut hierarchy = world.hierarchy.clone();
    hierarchy.set_weight(&Owner::User(*member), Some(weight));
    hierarchy.weigh(world.options.default_weight);
    hierarchy
}

#[test]
fn a_weight_leads_to_the_place_that_is_told_and_no_smaller_one_does() {
    worlds(30, |world, seed| {
        let (contest, order, default) = (world.contest(), world.options.order, world.options.default_weight);
        let line_up = contest.now();
        for (at, member) in world.members().iter().enumerate() {
            let (domain, project) = &world.hierarchy.projects()[&member.project];
            let of = |share: &Share| share.weight.unwrap_or(default);
            let (domain, project) = (of(&world.hierarchy.domains()[domain]), of(project));
            let own = Own {
                normalized_usage: world.hierarchy.users()[member].history.normalized_usage,
                effective: |weight| EffectiveWeight::product(domain, project, weight),
            };
            let rivals = line_up.rivals(at);
            let really = |weight: Weight| place(&with_weight(&world, member, weight), member, order);
            let next = |weight: Weight, by: i64| Weight::from_ten_thousandths(weight.ten_thousandths() + by);
            for wanted in 1..=u32::try_from(line_up.count()).unwrap() {
                match own.least_weight(&rivals, wanted) {
                    Some(reached) => {
                        assert_eq!(really(reached.weight), reached.place, "{seed} {member:?} {wanted}");
                        assert!(reached.place <= wanted);
                        assert!(next(reached.weight, -1).is_none_or(|less| really(less) > wanted), "{seed}");
                    }
                    None => assert!(really(Weight::MAX) > wanted, "{seed} {member:?} {wanted}"),
                }
                match own.most_weight(&rivals, wanted) {
                    Some(reached) => {
                        assert_eq!(really(reached.weight), reached.place);
                        assert!(reached.weight == Weight::MAX || reached.place >= wanted, "{seed} {member:?} {wanted}");
                        assert!(next(reached.weight, 1).is_none_or(|more| really(more) < wanted), "{seed}");
                    }
                    None => assert!(really(Weight::from_ten_thousandths(1).unwrap()) < wanted),
                }
            }
        }
    });
}

#[test]
fn usage_costs_the_place_that_is_told_and_less_usage_does_not() {
    worlds_of(60, 1, |world, seed| {
        let (contest, order, slots) = (world.contest(), world.options.order, world.capacity());
        let line_up = contest.now();
        for (at, member) in world.members().iter().enumerate() {
            let used = |share: &Share| (share.history.normalized_usage, share.effective_weight);
            let (domain, project) = &world.hierarchy.projects()[&member.project];
            let outer = [used(&world.hierarchy.domains()[domain]), used(project)];
            let own = used(&world.hierarchy.users()[member]);
            let now = line_up.place(at);
            // The user's project and domain use it too.
            let really =
                |name: SlotName, seconds: f64| place(&world.with_more(*member, name, seconds).hierarchy, member, order);
            let Some(cost) = cost(&line_up.rivals(at), own, line_up.climber(at).zip(Some(outer))) else {
                for (name, seconds) in in_slots(1e3, 1.0, &slots, &world.options) {
                    assert_eq!(really(name, seconds), now, "{seed} {member:?}");
                }
                continue;
            };
            assert!(cost.place > now);
            for (name, seconds) in in_slots(cost.normalized_usage, 1.0, &slots, &world.options) {
                // What is printed is rounded up, and in tiers a little more may pass those with an equal domain or project.
                let found = really(name, seconds);
                assert!(
                    found == cost.place || order == Order::Tiered && found > cost.place,
                    "{seed} {member:?} {name} {seconds}"
                );
                let less = seconds * (1.0 - 1e-3) - 0.001;
                assert!(less <= 0.0 || really(name, less) == now, "{seed} {member:?} {name} {seconds}");
            }
        }
    });
}

#[test]
fn neighbours_are_next_to_it_in_the_order() {
    worlds(40, |world, seed| {
        let (contest, order, members) = (world.contest(), world.options.order, world.members());
        let line_up = contest.now();
        let of = |at: usize| keys(&world.hierarchy, &members[at], order);
        for at in 0..members.len() {
            assert_eq!(line_up.place(at), place(&world.hierarchy, &members[at], order), "{seed}");
            let others = (0..members.len()).filter(|other| *other != at);
            assert_eq!(line_up.above(at).map(of), others.clone().map(of).filter(|keys| *keys < of(at)).max(), "{seed}");
            assert_eq!(line_up.below(at).map(of), others.clone().map(of).filter(|keys| *keys > of(at)).min(), "{seed}");
            let equals = others.filter(|other| of(*other) == of(at)).count();
            assert_eq!(line_up.equals(at) as usize, equals, "{seed}");
            for other in [line_up.above(at), line_up.below(at)].into_iter().flatten() {
                let first = of(at).iter().zip(of(other)).position(|(a, b)| *a != b).unwrap();
                assert_eq!(line_up.decides(at, other).map(|tier| tier as usize), Some(first), "{seed}");
            }
        }
    });
}

#[test]
fn numbers_are_printed_so_that_they_can_be_read_again() {
    for value in [0.0, -0.0, 0.1, 1.0 / 3.0, 1e-17, 2.5e-12, 123_456_789.123] {
        let text = exact(value);
        assert!(!text.contains(['e', '-']), "{text}");
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), (value + 0.0).to_bits());
    }
    assert_eq!(exact(fair_share_factor(0.15, EffectiveWeight::single(Weight::ONE))), exact((-0.15f64).exp2()));
    let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 112].map(ordinal);
    assert_eq!(
        ordinals,
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th", "112th"]
    );
}
