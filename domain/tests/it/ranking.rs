//! Rows by rank (FAIR_SHARE §7): the ranks, and the rows that one ranking shares with the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::factor::Exponent;
use domain::ranking::{PlacedRow, RankedRow, RowRanking};
use proptest::prelude::*;

use crate::support::{cases, own};

#[derive(Clone, Debug, PartialEq)]
struct Row {
    id: u32,
    used: u32,
}

impl RankedRow for Row {
    type Id = u32;

    fn exponent(&self) -> Exponent {
        Exponent::new(f64::from(self.used), own("1"))
    }

    fn id(&self) -> &u32 {
        &self.id
    }
}

/// Rows with these usages and the ids 0, 1, 2...
fn ranking(used: &[u32]) -> RowRanking<Row> {
    RowRanking::of((0..).zip(used).map(|(id, used)| Arc::new(Row { id, used: *used })).collect())
}

fn ranks(used: &[u32]) -> Vec<u32> {
    ranking(used).placed().map(|row| row.rank).collect()
}

#[test]
fn equal_exponents_share_a_rank() {
    assert_eq!(ranks(&[1, 2, 2, 4]), [1, 2, 2, 4]);
    assert_eq!(ranks(&[5, 5, 5]), [1, 1, 1]);
    assert_eq!(ranks(&[9, 3, 0, 3, 0]), [1, 1, 3, 3, 5]);
    assert_eq!(ranks(&[]), Vec::<u32>::new());
    assert!(ranking(&[]).at(0).is_none() && ranking(&[7]).at(1).is_none());
    assert_eq!(ranking(&[]).rank(Exponent::ZERO), 1);
    assert_eq!(PlacedRow::outside(Row { id: 0, used: 0 }).place(), None);
}

#[test]
fn a_ranking_shares_what_did_not_move_with_the_one_before() {
    let used: Vec<u32> = (0..10_000).collect();
    let before = ranking(&used);
    let holders = |of: &RowRanking<Row>| of.iter().map(Arc::strong_count).collect::<Vec<_>>();
    assert!(holders(&before).iter().all(|count| *count == 1));
    let gone = before.at(4_000).unwrap();
    let old = before.iter().nth(4_000).unwrap();
    let after = before.changed(vec![Arc::clone(old)], vec![Arc::new(Row { id: gone.id, used: 9_000 })]);
    assert_eq!(after.len(), 10_000);
    // Only rows near the two places are held twice; all others stand in parts that both have.
    let copied = holders(&after).into_iter().filter(|count| *count > 1).count();
    assert!(copied < 1_200, "{copied}");
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_rank_counts_those_ahead(used in proptest::collection::vec(0u32..40, 0..1_200)) {
        let ranking = ranking(&used);
        let ahead = |used: u32| 1 + u32::try_from(ranking.iter().filter(|row| row.used < used).count()).unwrap();
        for (place, row) in (0..).zip(ranking.placed()) {
            prop_assert_eq!(row.rank, ahead(row.used));
            prop_assert_eq!(ranking.rank(row.exponent()), row.rank);
            prop_assert_eq!(ranking.at(place), Some(row));
        }
        // One that is not there would have a rank all the same.
        for used in 0..41 {
            prop_assert_eq!(ranking.rank(Row { id: 0, used }.exponent()), ahead(used));
        }
    }

    #[test]
    fn ranks_found_in_turn_are_those_found_alone(
        used in proptest::collection::vec(0u32..900, 0..1_200), mut wanted in proptest::collection::vec(0u32..1_000, 0..300)
    ) {
        let ranking = ranking(&used);
        let exponent = |used: u32| Row { id: 0, used }.exponent();
        let alone = |wanted: &[u32]| wanted.iter().map(|used| ranking.rank(exponent(*used))).collect::<Vec<_>>();
        let in_turn = |wanted: &[u32]| {
            let mut walk = ranking.walk();
            wanted.iter().map(|used| walk.rank(exponent(*used))).collect::<Vec<_>>()
        };
        prop_assert_eq!(in_turn(&wanted), alone(&wanted));
        wanted.sort_unstable();
        prop_assert_eq!(in_turn(&wanted), alone(&wanted));
    }

    #[test]
    fn changes_give_the_ranking_of_all_rows(
        used in proptest::collection::vec(0u32..40, 0..1_500),
        steps in proptest::collection::vec(proptest::collection::vec((0u32..2_500, proptest::option::of(0u32..40)), 0..900), 1..5)
    ) {
        let mut rows: BTreeMap<u32, Arc<Row>> =
            (0..).zip(&used).map(|(id, used)| (id, Arc::new(Row { id, used: *used }))).collect();
        let mut ranking = RowRanking::of(rows.values().cloned().collect());
        for step in steps {
            let (mut gone, mut come) = (Vec::new(), Vec::new());
            for (id, to) in step.into_iter().collect::<BTreeMap<_, _>>() {
                gone.extend(rows.remove(&id));
                if let Some(used) = to {
                    let row = Arc::new(Row { id, used });
                    come.push(Arc::clone(&row));
                    rows.insert(id, row);
                }
            }
            ranking = ranking.changed(gone, come);
            let fresh = RowRanking::of(rows.values().cloned().collect());
            prop_assert_eq!(ranking.len(), rows.len());
            prop_assert!(ranking.placed().eq(fresh.placed()));
            prop_assert!(ranking.placed().all(|row| ranking.rank(row.exponent()) == row.rank));
        }
    }
}
