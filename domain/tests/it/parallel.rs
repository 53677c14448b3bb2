//! Work that is split over all cores.

use std::panic::catch_unwind;

use domain::parallel::{PARALLEL_MIN_ITEMS, join_both, map_items, map_ranges};

#[test]
fn results_stand_in_the_order_of_the_items() {
    for count in [0, 1, PARALLEL_MIN_ITEMS, 3 * PARALLEL_MIN_ITEMS, 20 * PARALLEL_MIN_ITEMS + 7] {
        let items: Vec<usize> = (0..count).collect();
        assert_eq!(map_items(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
    assert_eq!(join_both(|| 1, || "two"), (1, "two"));
}

#[test]
fn parts_are_all_of_the_items_in_their_order() {
    for count in [0, 1, PARALLEL_MIN_ITEMS, 3 * PARALLEL_MIN_ITEMS, 20 * PARALLEL_MIN_ITEMS + 7] {
        let items: Vec<usize> = (0..count).collect();
        assert_eq!(map_ranges(count, |part| items[part].to_vec()).concat(), items);
    }
}

#[test]
fn a_panic_in_a_thread_is_a_panic_of_the_whole() {
    let items: Vec<usize> = (0..4 * PARALLEL_MIN_ITEMS).collect();
    let last = items.len() - 1;
    assert!(catch_unwind(|| map_items(&items, |item| assert_ne!(*item, last))).is_err());
    assert!(catch_unwind(|| join_both(|| panic!("one"), || ())).is_err());
}
