//! Capacities in runs are a list of capacities.

use std::sync::Arc;

use fairshared::domain::capacities::Capacities;
use fairshared::domain::slots::Amounts;
use proptest::prelude::*;
use proptest::sample::Index;

use super::support::{amounts, cases};

fn capacity(cores: u8) -> Arc<Amounts> {
    Arc::new(amounts(&[("cpu", &cores.to_string())]))
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn they_hold_what_a_list_holds(steps in proptest::collection::vec((any::<Index>(), any::<Index>(), 1u8..4, 0u8..4), 0..200)) {
        let (mut list, mut runs) = (Vec::new(), Capacities::default());
        for (one, other, cores, step) in steps {
            let at = one.index(list.len() + 1);
            match step {
                0 if !list.is_empty() => {
                    let until = at + other.index(list.len() + 1 - at);
                    list.drain(at..until);
                    runs.remove(at..until);
                }
                1 if at < list.len() => {
                    list[at] = capacity(cores);
                    runs.set(at, &capacity(cores));
                }
                _ => {
                    list.insert(at, capacity(cores));
                    runs.insert(at, &capacity(cores));
                }
            }
            prop_assert_eq!(runs.iter().collect::<Vec<_>>(), list.iter().collect::<Vec<_>>());
            for (at, known) in list.iter().enumerate() {
                prop_assert_eq!(runs.get(at), known);
            }
        }
    }
}

#[test]
fn those_of_a_year_that_are_equal_take_no_more_than_two() {
    let mut year = Capacities::default();
    (0..365).for_each(|at| year.insert(at, &capacity(8)));
    let mut two = Capacities::default();
    (0..2).for_each(|at| two.insert(at, &capacity(8)));
    assert_eq!(year.memory(), two.memory());
    year.set(200, &capacity(9));
    year.set(200, &capacity(8));
    assert!(year.memory() <= 3 * two.memory(), "one day in between was another for a while: {}", year.memory());
}
