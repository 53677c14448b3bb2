//! The agreement of two orders, against every pair counted one by one (FAIR_SHARE §13).

use std::collections::BTreeMap;

use domain::agreement::{ComparedOrders, OrderAgreement};
use domain::ids::Member;
use proptest::prelude::*;

use crate::support::{cases, member};

/// Two orders of workloads by number, compared. The second one has no number twice.
fn compared(ours: &[u32], current: &[u32]) -> ComparedOrders {
    let position = |workload: &u32| current.iter().position(|other| other == workload);
    let positions = ours.iter().map(|workload| position(workload).map(|at| u32::try_from(at).unwrap()));
    ComparedOrders::of(positions, current.len())
}

fn agreement(ours: &[u32], current: &[u32]) -> OrderAgreement {
    compared(ours, current).agreement()
}

fn figures(agreement: OrderAgreement) -> (usize, usize, Option<f64>) {
    (agreement.compared, agreement.same_place, agreement.kendall_tau)
}

/// Any two orders with some workloads in common.
fn orders() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    let numbers = || Just((0..60).collect::<Vec<u32>>()).prop_shuffle();
    (numbers(), 0usize..61, numbers(), 0usize..61).prop_map(|(mut ours, some, mut current, others)| {
        ours.truncate(some);
        current.truncate(others);
        (ours, current)
    })
}

/// The workloads of both orders, in one of them.
fn common(one: &[u32], other: &[u32]) -> Vec<u32> {
    one.iter().filter(|workload| other.contains(workload)).copied().collect()
}

/// Five owners have the workloads in turns.
fn owner(workload: u32) -> Member {
    member(u128::from(workload % 5), 1)
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn figures_are_those_of_every_pair((ours, current) in orders()) {
        let (left, right) = (common(&ours, &current), common(&current, &ours));
        let place = |workload: u32| right.iter().position(|other| *other == workload).unwrap();
        let (mut pairs, mut sum) = (0i32, 0i32);
        for (at, one) in left.iter().enumerate() {
            for other in &left[at + 1..] {
                pairs += 1;
                sum += if place(*one) < place(*other) { 1 } else { -1 };
            }
        }
        let same = left.iter().enumerate().filter(|(at, workload)| place(**workload) == *at).count();
        let tau = (pairs > 0).then(|| f64::from(sum) / f64::from(pairs));
        prop_assert_eq!(figures(agreement(&ours, &current)), (left.len(), same, tau));
    }

    #[test]
    fn heads_are_compared_with_places_among_all_common_workloads((ours, current) in orders(), length in 0usize..20) {
        let (left, right) = (common(&ours, &current), common(&current, &ours));
        let place = |workload: u32| right.iter().position(|other| *other == workload).unwrap();
        let is_in_head = |(at, workload): &(usize, &u32)| *at < length || place(**workload) < length;
        let heads: Vec<(usize, &u32)> = left.iter().enumerate().filter(is_in_head).collect();
        let (mut pairs, mut sum) = (0i32, 0i32);
        for (at, (_, one)) in heads.iter().enumerate() {
            for (_, other) in &heads[at + 1..] {
                pairs += 1;
                sum += if place(**one) < place(**other) { 1 } else { -1 };
            }
        }
        let same = heads.iter().filter(|(at, workload)| place(**workload) == *at).count();
        let tau = (pairs > 0).then(|| f64::from(sum) / f64::from(pairs));
        let compared = compared(&ours, &current);
        prop_assert_eq!(figures(compared.agreement_of_heads(length)), (heads.len(), same, tau));
        prop_assert_eq!(compared.agreement_of_heads(left.len()), compared.agreement());
    }

    #[test]
    fn an_order_agrees_with_itself_and_not_with_its_reverse((ours, _) in orders()) {
        let reverse: Vec<u32> = ours.iter().rev().copied().collect();
        let of_two = |tau| (ours.len() > 1).then_some(tau);
        prop_assert_eq!(figures(agreement(&ours, &ours)), (ours.len(), ours.len(), of_two(1.0)));
        let middle = ours.len() % 2;
        prop_assert_eq!(figures(agreement(&ours, &reverse)), (ours.len(), middle, of_two(-1.0)));
    }

    #[test]
    fn both_directions_agree_alike((ours, current) in orders()) {
        prop_assert_eq!(agreement(&ours, &current), agreement(&current, &ours));
    }

    #[test]
    fn gains_of_all_add_up_to_nothing((ours, current) in orders()) {
        let compared = compared(&ours, &current);
        let gained: BTreeMap<Member, i64> =
            compared.places_gained(|position| owner(ours[position as usize])).into_iter().collect();
        let (left, right) = (common(&ours, &current), common(&current, &ours));
        let mut expected: BTreeMap<Member, i64> = BTreeMap::new();
        for (place, workload) in (0i64..).zip(&left) {
            let current = right.iter().position(|other| other == workload).unwrap();
            *expected.entry(owner(*workload)).or_default() += i64::try_from(current).unwrap() - place;
        }
        prop_assert_eq!(gained.values().sum::<i64>(), 0);
        prop_assert_eq!(gained, expected);
    }

    #[test]
    fn rows_are_in_our_order_and_have_each_place_once((ours, current) in orders()) {
        let rows: Vec<_> = compared(&ours, &current).iter().collect();
        prop_assert!(rows.windows(2).all(|two| two[0].0 < two[1].0));
        prop_assert!(rows.iter().enumerate().all(|(at, row)| row.1 as usize == at));
        let mut places: Vec<u32> = rows.iter().map(|row| row.2).collect();
        places.sort_unstable();
        prop_assert!(places.iter().enumerate().all(|(at, place)| *place as usize == at));
    }
}

#[test]
fn a_worked_example() {
    // The current order lacks 9, and ours lacks 7.
    let compared = compared(&[3, 9, 1, 2], &[7, 1, 3, 2]);
    assert_eq!(figures(compared.agreement()), (3, 1, Some(1.0 / 3.0)));
    assert_eq!(compared.iter().collect::<Vec<_>>(), [(0, 0, 1), (2, 1, 0), (3, 2, 2)]);
}

#[test]
fn a_head_that_overtakes_another_one_does_not_agree() {
    let ours: Vec<u32> = (200..400).chain(0..200).collect();
    let current: Vec<u32> = (0..400).collect();
    let heads = compared(&ours, &current).agreement_of_heads(200);
    // 39,800 pairs are in the same sequence, and 40,000 the other way round.
    assert_eq!(figures(heads), (400, 0, Some(-200.0 / 79_800.0)));
}

#[test]
fn a_workload_that_comes_twice_is_compared_once() {
    assert_eq!(figures(agreement(&[1, 2, 1], &[1, 2])), (2, 2, Some(1.0)));
}

#[test]
fn few_workloads_have_no_tau() {
    assert_eq!(figures(agreement(&[], &[])), (0, 0, None));
    assert_eq!(figures(agreement(&[1], &[1])), (1, 1, None));
    assert_eq!(figures(agreement(&[1], &[2])), (0, 0, None));
}

#[test]
fn a_million_workloads_are_compared() {
    let count = 1_000_000u32;
    let reverse = (0..count).rev().map(Some).collect::<Vec<_>>();
    let compared = ComparedOrders::of(reverse.into_iter(), count as usize);
    assert_eq!(figures(compared.agreement()), (1_000_000, 0, Some(-1.0)));
    let gained = compared.places_gained(|position| member(u128::from(position % 2), 1));
    assert_eq!((gained[&member(0, 1)], gained[&member(1, 1)]), (500_000, -500_000));
}
