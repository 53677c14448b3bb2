//! The laws of the values that give a scheduler an order.

use fairshared::connectors::order_values::{OrderedJob, order_values, rank_value};
use fairshared::connectors::owner_places::fill_owner_places;
use proptest::prelude::*;

const SITE_MAX: i64 = 1_000_000;

fn jobs(terms: &[(i64, i64)]) -> Vec<OrderedJob> {
    terms.iter().map(|(own, value)| OrderedJob { own: *own, value: *value }).collect()
}

fn values(jobs: &[OrderedJob], floor: i64) -> Vec<i64> {
    order_values(jobs, floor, SITE_MAX).unwrap()
}

#[test]
fn a_new_sequence_has_equal_gaps_above_everything_else() {
    assert_eq!(values(&jobs(&[(1, 0), (900, 0), (5, 0)]), 10), [3_899, 2_000, 1_895]);
}

#[test]
fn only_a_new_job_is_written() {
    // Priorities 4000, 3000 and 2000 fall already; the second job is new.
    let sequence = jobs(&[(0, 4_000), (7, 0), (0, 3_000), (0, 2_000)]);
    assert_eq!(values(&sequence, 900), [4_000, 3_493, 3_000, 2_000]);
    let first = jobs(&[(7, 0), (0, 4_000), (0, 3_000)]);
    assert_eq!(values(&first, 900), [4_993, 4_000, 3_000]);
    let last = jobs(&[(0, 4_000), (0, 3_000), (7, 0)]);
    assert_eq!(values(&last, 900), [4_000, 3_000, 1_943]);
}

#[test]
fn a_gap_without_room_spreads_all() {
    assert_eq!(values(&jobs(&[(0, 3_001), (0, 0), (0, 3_000)]), 0), [3_000, 2_000, 1_000]);
}

#[test]
fn too_little_room_gives_no_values() {
    assert_eq!(order_values(&jobs(&[(0, 0), (2_000_000, 0)]), 0, SITE_MAX), None);
    assert!(order_values(&[], 0, SITE_MAX).unwrap().is_empty());
}

proptest! {
    #[test]
    fn priorities_fall_strictly_within_the_bounds(
        terms in prop::collection::vec((0..5_000_i64, -3_000..200_000_i64), 0..60),
        floor in 0..10_000_i64,
    ) {
        let sequence = jobs(&terms);
        let found = order_values(&sequence, floor, SITE_MAX).unwrap();
        let totals: Vec<i64> = sequence.iter().zip(&found).map(|(job, value)| job.own + value).collect();
        prop_assert!(totals.windows(2).all(|pair| pair[0] > pair[1]));
        prop_assert!(totals.last().is_none_or(|last| *last > floor));
        prop_assert!(found.iter().all(|value| value.abs() <= SITE_MAX));
        // A sequence that has its values already keeps all of them.
        let written: Vec<OrderedJob> =
            sequence.iter().zip(&found).map(|(job, value)| OrderedJob { value: *value, ..*job }).collect();
        prop_assert_eq!(order_values(&written, floor, SITE_MAX).unwrap(), found);
    }
}

#[test]
fn values_of_ranks() {
    let value = |rank, worst| rank_value(rank, worst, 100_000, SITE_MAX);
    assert_eq!([value(Some(1), 30), value(Some(30), 30), value(None, 30)], [100_000, 3_500, 100_000]);
    assert_eq!(value(Some(1), 1), 100_000);
    // A rank that moves by one place among thousands stays on its step.
    assert_eq!(value(Some(1_000), 4_000), value(Some(1_001), 4_000));
    assert_eq!(rank_value(Some(1), 1, 5_000, 300), 300);
}

#[test]
fn the_places_of_an_owner_have_its_jobs_in_their_own_order() {
    let jobs = [("ann", 9), ("bob", 3), ("ann", 10), ("ann", 2)];
    assert_eq!(fill_owner_places(["ann", "bob", "ann", "ann"], jobs), [9, 3, 10, 2]);
    // An order of a head may have a later job of an owner; its place is that of the owner's first.
    assert_eq!(fill_owner_places(["bob", "ann"], jobs), [3, 9]);
    assert_eq!(fill_owner_places(["zoe", "bob", "bob"], jobs), [3]);
}

proptest! {
    #[test]
    fn only_jobs_of_one_owner_change_places(
        (own, places) in prop::collection::vec((0u8..3, 0u8..4), 0..30)
            .prop_flat_map(|owners| (Just(owners.clone()), Just(owners).prop_shuffle()))
    ) {
        // A job is its number in the scheduler's own order; an owner is a tier and a user.
        let jobs: Vec<((u8, u8), usize)> = own.iter().copied().zip(0..).collect();
        let filled = fill_owner_places(places.clone(), jobs);
        let mut sorted = filled.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..own.len()).collect::<Vec<_>>());
        // Each place has a job of the owner and the tier that it had before.
        prop_assert!(filled.iter().zip(&places).all(|(job, owner)| own[*job] == *owner));
        for owner in &places {
            let jobs: Vec<usize> = filled.iter().copied().filter(|job| own[*job] == *owner).collect();
            prop_assert!(jobs.is_sorted());
        }
    }
}
