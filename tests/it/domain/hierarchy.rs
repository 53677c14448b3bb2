//! Weights down the hierarchy, ranks in their scopes (FAIR_SHARE §7).

use std::sync::Arc;

use fairshared::domain::factor::{Exponent, History};
use fairshared::domain::hierarchy::{Hierarchy, Share};
use fairshared::domain::ids::Member;
use fairshared::domain::weight::Weight;
use proptest::prelude::*;

use super::support::{cases, close, member, weight};

fn share(set: Option<Weight>, normalized_usage: f64) -> Share {
    Share::new(set, History { normalized_usage, ..History::default() })
}

/// Domains `research` (project 1) and `product` (project 2); users 1 and 2 in project 1, user 3 in project 2.
fn cluster() -> Hierarchy {
    let mut hierarchy = Hierarchy::default();
    for (domain, project, used) in [("research", 1, 0.4), ("product", 2, 0.3)] {
        hierarchy.domains.insert(domain.into(), share(None, used));
        hierarchy.projects.insert(member(0, project).project, (domain.into(), share(None, used)));
    }
    for (user, project, used) in [(1, 1, 0.2), (2, 1, 0.2), (3, 2, 0.15)] {
        hierarchy.users.insert(member(user, project), share(None, used));
    }
    hierarchy
}

fn users(hierarchy: &Hierarchy) -> Vec<(Member, u32)> {
    hierarchy.users.iter().map(|(member, share)| (*member, share.rank)).collect()
}

#[test]
fn the_proposals_scenario_5_shows_the_new_ranks_at_once() {
    let mut hierarchy = cluster();
    let ranking = hierarchy.recompute(Weight::ONE);
    assert_eq!(ranking.users, [member(3, 2), member(1, 1), member(2, 1)]);
    assert_eq!(users(&hierarchy), [(member(1, 1), 2), (member(2, 1), 2), (member(3, 2), 1)]);
    assert_eq!(ranking.domains, [Arc::from("product"), Arc::from("research")]);

    hierarchy.domains.get_mut("research").expect("a domain").weight = Some(weight("2.0"));
    let ranking = hierarchy.recompute(Weight::ONE);
    assert_eq!(ranking.users, [member(1, 1), member(2, 1), member(3, 2)]);
    assert_eq!(users(&hierarchy), [(member(1, 1), 1), (member(2, 1), 1), (member(3, 2), 3)]);
    assert_eq!(ranking.domains, [Arc::from("research"), Arc::from("product")]);
    let user = &hierarchy.users[&member(1, 1)];
    assert_eq!(user.effective_weight.to_string(), "2");
    assert!(close(user.fair_share_factor, (-0.2f64 / 2.0).exp2()));
}

#[test]
fn unset_weights_follow_the_default_also_when_it_changes() {
    let mut hierarchy = cluster();
    hierarchy.users.get_mut(&member(1, 1)).expect("a user").weight = Some(weight("5"));
    for (default, set, unset, domain) in [("1", "5", "1", "1"), ("2", "20", "8", "2"), ("0.5", "1.25", "0.125", "0.5")]
    {
        hierarchy.recompute(weight(default));
        assert_eq!(hierarchy.users[&member(1, 1)].effective_weight.to_string(), set);
        assert_eq!(hierarchy.users[&member(2, 1)].effective_weight.to_string(), unset);
        // Domains and projects use their own weight.
        assert_eq!(hierarchy.domains["product"].effective_weight.to_string(), domain);
        assert_eq!(hierarchy.projects[&member(0, 2).project].1.effective_weight.to_string(), domain);
    }
    // Unsetting keeps the calculated state.
    hierarchy.users.get_mut(&member(1, 1)).expect("a user").weight = None;
    hierarchy.recompute(Weight::ONE);
    assert_eq!(
        users(&hierarchy),
        users(&{
            let mut fresh = cluster();
            fresh.recompute(Weight::ONE);
            fresh
        })
    );
}

#[test]
fn projects_are_ranked_in_their_domain() {
    let mut hierarchy = cluster();
    for (project, used) in [(3, 0.9), (4, 0.1)] {
        hierarchy.projects.insert(member(0, project).project, ("product".into(), share(None, used)));
    }
    hierarchy.recompute(Weight::ONE);
    let ranks: Vec<u32> = hierarchy.projects.values().map(|(_, share)| share.rank).collect();
    assert_eq!(ranks, [1, 2, 3, 1]);
}

#[test]
fn whoever_used_nothing_has_factor_one_and_comes_first() {
    let mut hierarchy = cluster();
    hierarchy.users.insert(member(9, 1), share(Some(weight("0.0001")), 0.0));
    let ranking = hierarchy.recompute(Weight::ONE);
    assert_eq!(ranking.users[0], member(9, 1));
    let newcomer = &hierarchy.users[&member(9, 1)];
    assert_eq!((newcomer.rank, newcomer.exponent), (1, Exponent::ZERO));
    assert_eq!(newcomer.fair_share_factor.to_bits(), 1f64.to_bits());
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
            hierarchy.domains.insert(Arc::clone(&domain), share(set, used));
            hierarchy.projects.insert(member(user, project).project, (domain, share(set, used)));
            hierarchy.users.insert(member(user, project), share(set, used));
        }
        hierarchy
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn ranks_count_those_ahead_and_listings_are_total(mut hierarchy in any_cluster(), default in 1i64..50_000) {
        let ranking = hierarchy.recompute(Weight::from_ten_thousandths(default).expect("in range"));
        for share in hierarchy.users.values() {
            let ahead = hierarchy.users.values().filter(|other| other.exponent < share.exponent).count();
            prop_assert_eq!(share.rank as usize, ahead + 1);
        }
        for (domain, share) in hierarchy.projects.values() {
            let rivals = hierarchy.projects.values().filter(|(other, _)| other == domain);
            prop_assert_eq!(share.rank as usize, rivals.filter(|(_, r)| r.exponent < share.exponent).count() + 1);
        }
        let keys: Vec<_> = ranking.users.iter().map(|m| (hierarchy.users[m].exponent, *m)).collect();
        prop_assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(keys.len(), hierarchy.users.len());
        prop_assert_eq!(ranking.projects.len(), hierarchy.projects.len());
        // The same again changes nothing.
        let before = hierarchy.clone();
        prop_assert_eq!(hierarchy.recompute(Weight::from_ten_thousandths(default).expect("in range")), ranking);
        prop_assert_eq!(hierarchy, before);
    }
}
