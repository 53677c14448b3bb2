//! The suspensions of a kernel, from reports in any order.

use domain::changes::SuspensionChanges;
use domain::time::{TimeSpan, Timestamp};
use proptest::prelude::*;

use crate::support::{cases, clock};

fn told(changes: &[(i64, bool)]) -> SuspensionChanges {
    let mut all = SuspensionChanges::default();
    for (second, suspended) in changes {
        all.note(Timestamp::from_seconds(*second), *suspended);
    }
    all
}

fn seconds(spans: impl Iterator<Item = TimeSpan>) -> Vec<(i64, i64)> {
    spans.map(|s| (s.start.micros() / 1_000_000, s.end.micros() / 1_000_000)).collect()
}

#[test]
fn a_suspension_lasts_until_the_next_report_that_it_runs() {
    let whole = TimeSpan::new(Timestamp::from_seconds(0), Timestamp::from_seconds(100)).unwrap();
    let changes = told(&[(10, true), (20, true), (30, false), (50, true)]);
    assert_eq!(seconds(changes.suspended(whole)), [(10, 20), (20, 30), (50, 100)]);
    assert_eq!(seconds(changes.active(whole)), [(0, 10), (30, 50)]);
    assert!(changes.ends_suspended());
    assert_eq!(changes.last(), Some(Timestamp::from_seconds(50)));
    assert_eq!(seconds(SuspensionChanges::default().active(whole)), [(0, 100)]);
    assert_eq!(told(&[(0, true)]).active(whole).next(), None);
    // Suspended before the time that is looked at.
    let late = TimeSpan::new(Timestamp::from_seconds(60), Timestamp::from_seconds(70)).unwrap();
    assert_eq!(changes.active(late).next(), None);
    assert_eq!(changes.to_string(), "-10000000 -20000000 +30000000 -50000000");
    assert!("7".parse::<SuspensionChanges>().is_err() && "*7".parse::<SuspensionChanges>().is_err());
    assert_eq!(SuspensionChanges::one(clock("10:00"), false).last(), Some(clock("10:00")));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_order_and_multiplicity_tells_the_same(
        mut changes in prop::collection::vec((0i64..40, any::<bool>()), 0..12), swaps in any::<u64>(),
    ) {
        let known = told(&changes);
        let twice = changes.clone();
        changes.extend(twice);
        let count = changes.len().max(1);
        changes.rotate_left(usize::try_from(swaps).unwrap_or(0) % count);
        changes.reverse();
        prop_assert_eq!(&told(&changes), &known);
        prop_assert_eq!(&known.to_string().parse::<SuspensionChanges>().unwrap(), &known);
    }

    #[test]
    fn active_and_suspended_are_all_of_it(changes in prop::collection::vec((0i64..40, any::<bool>()), 0..12), from in 0i64..40, long in 1i64..40) {
        let changes = told(&changes);
        let whole = TimeSpan::new(Timestamp::from_seconds(from), Timestamp::from_seconds(from + long)).unwrap();
        let mut all: Vec<TimeSpan> = changes.active(whole).chain(changes.suspended(whole)).collect();
        all.sort_by_key(|s| s.start);
        prop_assert_eq!(all.iter().map(|s| s.micros()).sum::<u64>(), whole.micros());
        prop_assert!(all.windows(2).all(|w| w[0].end == w[1].start));
    }
}
