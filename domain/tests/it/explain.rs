//! Explanations (FAIR_SHARE §12) against the engine: the printed values lead to the number, and the predictions come true.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::decimal::{ExactFactor, Usage};
use domain::explain::count::ContributionScale;
use domain::explain::exact_text;
use domain::explain::future::{FutureKeys, UnrecordedHistories};
use domain::explain::outlook::outlook;
use domain::explain::place_costs::{WeightResponse, cost_of_place, in_slots};
use domain::explain::words::ordinal;
use domain::factor::fair_share_factor;
use domain::hierarchy::{Hierarchy, Share};
use domain::ids::{Member, Owner};
use domain::increments::UsageIncrements;
use domain::normalize::UsageNormalizer;
use domain::normalized_days::{NormalizedDays, with_usage};
use domain::options::{FairShareOptions, FairshareOrder};
use domain::slots::{SlotAmounts, SlotName};
use domain::time::MICROS_PER_SECOND;
use domain::usage_dimensions::UsageDimensions;
use domain::weight::{EffectiveWeight, Weight};
use serde_json::{Value, json};

use crate::support::amounts;
use crate::support::dice::Dice;
use crate::worlds::{TODAY, World, below, keys, place, worlds, worlds_of};

#[test]
fn what_is_printed_redoes_the_number_to_the_last_digit() {
    worlds(60, |world, seed| {
        for owner in world.hierarchy.owners().collect::<Vec<_>>() {
            let share = world.hierarchy.share(&owner).unwrap();
            let recount = ContributionScale { options: &world.options, today: TODAY }
                .recount(world.ledger.buckets(&owner).to_vec());
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
                let decay: f64 = exact_text(count.decay_weight).parse().unwrap();
                sum += decay * exact_text(count.normalized_usage).parse::<f64>().unwrap();
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
        let mut added = UsageIncrements::default();
        let mut unrecorded = UnrecordedHistories::default();
        let mut projects = BTreeMap::<usize, (Owner, f64)>::new();
        let mut domains = BTreeMap::<usize, (Owner, f64)>::new();
        let scale = ContributionScale { options: &world.options, today: TODAY };
        for (at, member) in members.iter().enumerate() {
            if below(&mut dice, 2) == 0 {
                continue;
            }
            let usage =
                amounts(&[("cpu", "3")]).for_micros((below(&mut dice, 3_000) * MICROS_PER_SECOND).unsigned_abs());
            let domain = Arc::clone(&world.hierarchy.projects()[&member.project].0);
            added.add(*member, &UsageDimensions::of_domain(Arc::clone(&domain)), TODAY, &usage);
            let more = scale.count(TODAY, &usage, &capacity).normalized_usage;
            unrecorded.entrants.push((at, with_usage(&contest.entrants[at].normalized_days, TODAY, 1, more)));
            if let Some(outer) = &contest.outer {
                let project = outer.within[at] as usize;
                projects.entry(project).or_insert((Owner::Project(member.project), 0.0)).1 += more;
                domains.entry(outer.domain_of[project] as usize).or_insert((Owner::Domain(domain), 0.0)).1 += more;
            }
        }
        let normalized_days = world.normalized_days();
        let grown = |tier: BTreeMap<usize, (Owner, f64)>| -> Vec<(usize, NormalizedDays)> {
            tier.into_iter()
                .map(|(at, (owner, more))| {
                    (at, with_usage(normalized_days.get(&owner).map_or(&[][..], |t| t), TODAY, 1, more))
                })
                .collect()
        };
        unrecorded.projects = grown(projects);
        unrecorded.domains = grown(domains);
        let future = FutureKeys::of(&contest, &world.options, TODAY);
        let order = world.options.order;
        world.book(added);
        for (at, member) in members.iter().enumerate() {
            let own = unrecorded.entrants.iter().find(|(other, _)| *other == at);
            let normalized_days =
                own.map_or(&contest.entrants[at].normalized_days, |(_, normalized_days)| normalized_days);
            let told = outlook(&contest, &future, &unrecorded, at, normalized_days);
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
        let candidate_order = contest.now();
        for (at, member) in world.members().iter().enumerate() {
            let (domain, project) = &world.hierarchy.projects()[&member.project];
            let of = |share: &Share| share.weight.unwrap_or(default);
            let (domain, project) = (of(&world.hierarchy.domains()[domain]), of(project));
            let own = WeightResponse {
                normalized_usage: world.hierarchy.users()[member].history.normalized_usage,
                effective: |weight| EffectiveWeight::product(domain, project, weight),
            };
            let rivals = candidate_order.siblings_at(at);
            let really = |weight: Weight| place(&with_weight(&world, member, weight), member, order);
            let next = |weight: Weight, by: i64| Weight::from_ten_thousandths(weight.ten_thousandths() + by);
            for wanted in 1..=u32::try_from(candidate_order.count()).unwrap() {
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
        let candidate_order = contest.now();
        for (at, member) in world.members().iter().enumerate() {
            let used = |share: &Share| (share.history.normalized_usage, share.effective_weight);
            let (domain, project) = &world.hierarchy.projects()[&member.project];
            let outer = [used(&world.hierarchy.domains()[domain]), used(project)];
            let own = used(&world.hierarchy.users()[member]);
            let now = candidate_order.place(at);
            // The user's project and domain use it too.
            let really =
                |name: SlotName, usage: Usage| place(&world.with_more(*member, name, usage).hierarchy, member, order);
            let Some(cost) =
                cost_of_place(&candidate_order.siblings_at(at), own, candidate_order.climber(at).zip(Some(outer)))
            else {
                for (name, usage) in in_slots(1e3, 1.0, &slots, &world.options) {
                    assert_eq!(really(name, usage), now, "{seed} {member:?}");
                }
                continue;
            };
            assert!(cost.place > now);
            for (name, usage) in in_slots(cost.normalized_usage, 1.0, &slots, &world.options) {
                // The printed cost is rounded up, and in tiers a little more may pass those with an equal domain or project.
                let found = really(name, usage);
                assert!(
                    found == cost.place || order == FairshareOrder::Tiered && found > cost.place,
                    "{seed} {member:?} {name} {usage}"
                );
                // Places differ if usage over weight differs in the first twelve digits.
                let less = usage.times(ExactFactor::new(1.0 - 1e-3)).rounded().saturating_sub("0.001".parse().unwrap());
                assert!(less.is_zero() || really(name, less) == now, "{seed} {member:?} {name} {usage}");
            }
        }
    });
}

#[test]
fn costs_are_exact_however_large_they_are() {
    let options =
        |weights: Value| FairShareOptions::parse(json!({"resource_weights": weights}).as_object().unwrap()).unwrap();
    for (capacity, options) in [
        (json!({"mem": "9007199254740993", "cpu": "64"}), options(json!({}))),
        (json!({"mem": "590295810358705651712", "cpu": "0.000000000001"}), options(json!({"mem": "0.3", "cpu": "7"}))),
    ] {
        let capacity: SlotAmounts = serde_json::from_value(capacity).unwrap();
        let normalizer = UsageNormalizer::new(&capacity, &options.resource_weights);
        let counts_for = |name: SlotName, usage: Usage| {
            0.5 * normalizer.normalized_by(|slot| (slot == name).then_some(usage)) / f64::from(options.lookback_days)
        };
        for wanted in [1e-9, 0.012_345_678_901_234_567, 0.7] {
            let slots = in_slots(wanted, 0.5, &capacity, &options);
            assert_eq!(slots.len(), 2);
            for (name, usage) in slots {
                let less = usage.saturating_sub("0.001".parse().unwrap());
                assert!(
                    counts_for(name, usage) >= wanted && (less.is_zero() || counts_for(name, less) < wanted),
                    "{name} {usage}"
                );
            }
        }
    }
}

#[test]
fn neighbours_are_next_to_it_in_the_order() {
    worlds(40, |world, seed| {
        let (contest, order, members) = (world.contest(), world.options.order, world.members());
        let candidate_order = contest.now();
        let of = |at: usize| keys(&world.hierarchy, &members[at], order);
        for at in 0..members.len() {
            assert_eq!(candidate_order.place(at), place(&world.hierarchy, &members[at], order), "{seed}");
            let others = (0..members.len()).filter(|other| *other != at);
            assert_eq!(
                candidate_order.position_above(at).map(of),
                others.clone().map(of).filter(|keys| *keys < of(at)).max(),
                "{seed}"
            );
            assert_eq!(
                candidate_order.below(at).map(of),
                others.clone().map(of).filter(|keys| *keys > of(at)).min(),
                "{seed}"
            );
            let equals = others.filter(|other| of(*other) == of(at)).count();
            assert_eq!(candidate_order.count_equals(at) as usize, equals, "{seed}");
            for other in [candidate_order.position_above(at), candidate_order.below(at)].into_iter().flatten() {
                let first = of(at).iter().zip(of(other)).position(|(a, b)| *a != b).unwrap();
                assert_eq!(candidate_order.decides(at, other).map(|tier| tier as usize), Some(first), "{seed}");
            }
        }
    });
}

#[test]
fn numbers_are_printed_so_that_they_can_be_read_again() {
    for value in [0.0, -0.0, 0.1, 1.0 / 3.0, 1e-17, 2.5e-12, 123_456_789.123] {
        let text = exact_text(value);
        assert!(!text.contains(['e', '-']), "{text}");
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), (value + 0.0).to_bits());
    }
    assert_eq!(
        exact_text(fair_share_factor(0.15, EffectiveWeight::single(Weight::ONE))),
        exact_text((-0.15f64).exp2())
    );
    let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 112].map(ordinal);
    assert_eq!(
        ordinals,
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th", "112th"]
    );
}
