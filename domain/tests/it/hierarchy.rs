//! Weights down the hierarchy, ranks in their scopes (FAIR_SHARE §7).

use std::sync::Arc;

use domain::factor::{DecayedHistory, Exponent};
use domain::hierarchy::{Hierarchy, Share, WeighingResult};
use domain::ids::{Member, Owner, ProjectId};
use domain::ranking::{RankedRow, RowRanking};
use domain::weight::Weight;
use proptest::prelude::*;

use crate::support::{cases, close, member, weight};

fn share(set: Option<Weight>, normalized_usage: f64) -> Share {
    Share::new(set, DecayedHistory { normalized_usage, ..DecayedHistory::default() })
}

/// Domains `research` (project 1) and `product` (project 2); users 1 and 2 in project 1, user 3 in project 2.
fn cluster() -> Hierarchy {
    let mut hierarchy = Hierarchy::default();
    for (domain, project, used) in [("research", 1, 0.4), ("product", 2, 0.3)] {
        let domain = Arc::from(domain);
        hierarchy.put_domain(&domain, share(None, used));
        hierarchy.put_project(member(0, project).project, &domain, share(None, used));
    }
    for (user, project, used) in [(1, 1, 0.2), (2, 1, 0.2), (3, 2, 0.15)] {
        hierarchy.put_user(member(user, project), share(None, used));
    }
    hierarchy
}

/// One share of a tier.
struct Row<I>(I, Exponent);

impl<I: Ord> RankedRow for Row<I> {
    type Id = I;

    fn exponent(&self) -> Exponent {
        self.1
    }

    fn id(&self) -> &I {
        &self.0
    }
}

/// Ids with their ranks, by rank.
fn ranks<I: Ord + Clone>(shares: impl Iterator<Item = (I, Exponent)>) -> Vec<(I, u32)> {
    let ranking = RowRanking::of(shares.map(|(id, exponent)| Arc::new(Row(id, exponent))).collect());
    ranking.placed().map(|row| (row.0.clone(), row.rank)).collect()
}

fn users(hierarchy: &Hierarchy) -> Vec<(Member, u32)> {
    ranks(hierarchy.users().iter().map(|(member, share)| (*member, share.exponent)))
}

fn domains(hierarchy: &Hierarchy) -> Vec<(Arc<str>, u32)> {
    ranks(hierarchy.domains().iter().map(|(name, share)| (Arc::clone(name), share.exponent)))
}

fn take(hierarchy: &mut Hierarchy, owner: &Owner, history: &DecayedHistory) {
    hierarchy.take_histories([owner.clone()], |_| history.clone());
}

fn domain(name: &str) -> Owner {
    Owner::Domain(name.into())
}

#[test]
fn the_proposals_scenario_5_shows_the_new_ranks_at_once() {
    let mut hierarchy = cluster();
    hierarchy.weigh(Weight::ONE);
    assert_eq!(users(&hierarchy), [(member(3, 2), 1), (member(1, 1), 2), (member(2, 1), 2)]);
    assert_eq!(domains(&hierarchy), [(Arc::from("product"), 1), (Arc::from("research"), 2)]);

    hierarchy.set_weight(&domain("research"), Some(weight("2.0")));
    let weighed = hierarchy.weigh(Weight::ONE);
    assert_eq!(weighed.moved, [domain("research"), Owner::User(member(1, 1)), Owner::User(member(2, 1))]);
    assert_eq!(weighed.refactored, weighed.moved);
    assert_eq!(users(&hierarchy), [(member(1, 1), 1), (member(2, 1), 1), (member(3, 2), 3)]);
    assert_eq!(domains(&hierarchy), [(Arc::from("research"), 1), (Arc::from("product"), 2)]);
    let user = &hierarchy.users()[&member(1, 1)];
    assert_eq!(user.effective_weight.to_string(), "2");
    assert!(close(user.fair_share_factor, (-0.2f64 / 2.0).exp2()));
}

#[test]
fn unset_weights_follow_the_default_also_when_it_changes() {
    let mut hierarchy = cluster();
    hierarchy.set_weight(&Owner::User(member(1, 1)), Some(weight("5")));
    for (default, set, unset, domain) in [("1", "5", "1", "1"), ("2", "20", "8", "2"), ("0.5", "1.25", "0.125", "0.5")]
    {
        hierarchy.weigh(weight(default));
        assert_eq!(hierarchy.users()[&member(1, 1)].effective_weight.to_string(), set);
        assert_eq!(hierarchy.users()[&member(2, 1)].effective_weight.to_string(), unset);
        // Domains and projects use their own weight.
        assert_eq!(hierarchy.domains()["product"].effective_weight.to_string(), domain);
        assert_eq!(hierarchy.projects()[&member(0, 2).project].1.effective_weight.to_string(), domain);
    }
    // Unsetting keeps the calculated state.
    hierarchy.set_weight(&Owner::User(member(1, 1)), None);
    hierarchy.weigh(Weight::ONE);
    let mut fresh = cluster();
    fresh.weigh(Weight::ONE);
    assert_eq!(hierarchy, fresh);
}

#[test]
fn whoever_used_nothing_has_factor_one_and_comes_first() {
    let mut hierarchy = cluster();
    hierarchy.put_user(member(9, 1), share(Some(weight("0.0001")), 0.0));
    hierarchy.weigh(Weight::ONE);
    assert_eq!(users(&hierarchy)[0], (member(9, 1), 1));
    let newcomer = &hierarchy.users()[&member(9, 1)];
    assert_eq!(newcomer.exponent, Exponent::ZERO);
    assert_eq!(newcomer.fair_share_factor.to_bits(), 1f64.to_bits());
}

#[test]
fn only_those_whom_a_change_reaches_are_weighed_again() {
    let mut hierarchy = cluster();
    assert_eq!(hierarchy.weigh(Weight::ONE).moved.len(), 7);
    assert_eq!(hierarchy.weigh(Weight::ONE), WeighingResult::default());
    // The usage of a domain has no effect on its members.
    let more = DecayedHistory { normalized_usage: 0.9, ..DecayedHistory::default() };
    take(&mut hierarchy, &domain("research"), &more);
    assert_eq!(hierarchy.weigh(Weight::ONE).moved, [domain("research")]);
    take(&mut hierarchy, &Owner::User(member(1, 1)), &more);
    assert_eq!(hierarchy.weigh(Weight::ONE).moved, [Owner::User(member(1, 1))]);
    // A user who used nothing has another weight, and the same factor.
    hierarchy.put_user(member(4, 2), share(None, 0.0));
    hierarchy.weigh(Weight::ONE);
    hierarchy.set_weight(&Owner::Project(member(0, 2).project), Some(weight("3")));
    let weighed = hierarchy.weigh(Weight::ONE);
    let [project, user, idle] =
        [Owner::Project(member(0, 2).project), Owner::User(member(3, 2)), Owner::User(member(4, 2))];
    assert_eq!(weighed.moved, [project.clone(), user.clone(), idle]);
    assert_eq!(weighed.refactored, [project, user]);
}

prop_compose! {
    fn any_cluster()(
        rows in proptest::collection::vec(
            (0u128..30, 0u128..4, prop_oneof![Just(0.0), Just(0.5), 0.0f64..3.0], proptest::option::of(1i64..50_000)),
            0..40,
        )
    ) -> Hierarchy {
        let mut hierarchy = Hierarchy::default();
        for (user, project, used, set) in rows {
            let set = set.and_then(Weight::from_ten_thousandths);
            let domain: Arc<str> = format!("d{}", project % 2).into();
            hierarchy.put_domain(&domain, share(set, used));
            hierarchy.put_project(member(user, project).project, &domain, share(set, used));
            hierarchy.put_user(member(user, project), share(set, used));
        }
        hierarchy
    }
}

/// One change of a cluster, by any of its ways.
#[derive(Clone, Copy, Debug)]
enum Change {
    Weight(usize, Option<i64>),
    History(usize, f64),
    Move(usize, u128),
    Join(u128, u128),
    Default(i64),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), proptest::option::of(1i64..50_000)).prop_map(|(at, set)| Change::Weight(at, set)),
        (any::<usize>(), prop_oneof![Just(0.0), 0.0f64..3.0]).prop_map(|(at, used)| Change::History(at, used)),
        (any::<usize>(), 0u128..3).prop_map(|(at, domain)| Change::Move(at, domain)),
        (0u128..30, 0u128..6).prop_map(|(user, project)| Change::Join(user, project)),
        (1i64..50_000).prop_map(Change::Default),
    ]
}

fn make(hierarchy: &mut Hierarchy, default: &mut Weight, change: Change) {
    let owners: Vec<Owner> = hierarchy.owners().collect();
    let projects: Vec<ProjectId> = hierarchy.projects().keys().copied().collect();
    let one = |at: usize| owners.get(at % owners.len().max(1));
    match change {
        Change::Weight(at, set) => {
            if let Some(owner) = one(at) {
                hierarchy.set_weight(owner, set.and_then(Weight::from_ten_thousandths));
            }
        }
        Change::History(at, normalized_usage) => {
            let history = DecayedHistory { normalized_usage, ..DecayedHistory::default() };
            if let Some(owner) = one(at) {
                take(hierarchy, owner, &history);
            }
        }
        Change::Move(at, domain) => {
            if let Some(id) = projects.get(at % projects.len().max(1)) {
                hierarchy.move_project(*id, &format!("d{domain}").into());
            }
        }
        Change::Join(user, project) => {
            let (joins, domain): (_, Arc<str>) = (member(user, project), format!("d{}", project % 3).into());
            if !hierarchy.projects().contains_key(&joins.project) {
                hierarchy.put_project(joins.project, &domain, share(None, 0.0));
            }
            // A domain may become known later than its projects.
            if user % 2 == 0 && !hierarchy.domains().contains_key(&domain) {
                hierarchy.put_domain(&domain, share(None, 0.0));
            }
            if !hierarchy.users().contains_key(&joins) {
                hierarchy.put_user(joins, share(None, 0.0));
            }
        }
        Change::Default(weight) => *default = Weight::from_ten_thousandths(weight).expect("in range"),
    }
}

/// The same cluster, weighed as a whole again.
fn weighed_anew(hierarchy: &Hierarchy, default: Weight) -> Hierarchy {
    let mut fresh = Hierarchy::default();
    let bare = |share: &Share| Share::new(share.weight, DecayedHistory::clone(&share.history));
    for (name, share) in hierarchy.domains() {
        fresh.put_domain(name, bare(share));
    }
    for (id, (domain, share)) in hierarchy.projects() {
        fresh.put_project(*id, domain, bare(share));
    }
    for (member, share) in hierarchy.users() {
        fresh.put_user(*member, bare(share));
    }
    fresh.weigh(default);
    fresh
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn ranks_count_those_ahead_and_listings_are_total(mut hierarchy in any_cluster(), default in 1i64..50_000) {
        let default = Weight::from_ten_thousandths(default).expect("in range");
        hierarchy.weigh(default);
        let listed = users(&hierarchy);
        for (member, rank) in &listed {
            let share = &hierarchy.users()[member];
            let ahead = hierarchy.users().values().filter(|other| other.exponent < share.exponent).count();
            prop_assert_eq!(*rank as usize, ahead + 1);
        }
        let keys: Vec<_> = listed.iter().map(|(m, _)| (hierarchy.users()[m].exponent, *m)).collect();
        prop_assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(keys.len(), hierarchy.users().len());
        // The same again changes nothing.
        let before = hierarchy.clone();
        prop_assert_eq!(hierarchy.weigh(default), WeighingResult::default());
        prop_assert_eq!(hierarchy, before);
    }

    #[test]
    fn weighing_what_changed_gives_the_very_numbers_of_weighing_all(
        mut hierarchy in any_cluster(), steps in proptest::collection::vec(proptest::collection::vec(any_change(), 0..4), 1..12)
    ) {
        let mut default = Weight::ONE;
        hierarchy.weigh(default);
        for changes in steps {
            let before = hierarchy.clone();
            for change in changes {
                make(&mut hierarchy, &mut default, change);
            }
            let weighed = hierarchy.weigh(default);
            prop_assert_eq!(&hierarchy, &weighed_anew(&hierarchy, default));
            let differs = |owner: &Owner| before.share(owner) != hierarchy.share(owner);
            prop_assert!(hierarchy.owners().filter(differs).all(|owner| weighed.moved.contains(&owner)));
            let refactored = |owner: &Owner| {
                let bits = |h: &Hierarchy| h.share(owner).map_or(1.0, |s| s.fair_share_factor).to_bits();
                bits(&before) != bits(&hierarchy)
            };
            prop_assert_eq!(weighed.refactored, hierarchy.owners().filter(refactored).collect::<Vec<_>>());
        }
    }
}
