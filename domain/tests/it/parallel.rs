//! Work that is split over all cores.

use std::panic::catch_unwind;

use domain::parallel::{FEW, both, map, parts};

#[test]
fn results_stand_in_the_order_of_the_items() {
    for count in [0, 1, FEW, 3 * FEW, 20 * FEW + 7] {
        let items: Vec<usize> = (0..count).collect();
        assert_eq!(map(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
    assert_eq!(both(|| 1, || "two"), (1, "two"));
}

#[test]
fn parts_are_all_of_the_items_in_their_order() {
    for count in [0, 1, FEW, 3 * FEW, 20 * FEW + 7] {
        let items: Vec<usize> = (0..count).collect();
        assert_eq!(parts(count, |part| items[part].to_vec()).concat(), items);
    }
}

#[test]
fn a_panic_in_a_thread_is_a_panic_of_the_whole() {
    let items: Vec<usize> = (0..4 * FEW).collect();
    let last = items.len() - 1;
    assert!(catch_unwind(|| map(&items, |item| assert_ne!(*item, last))).is_err());
    assert!(catch_unwind(|| both(|| panic!("one"), || ())).is_err());
}
