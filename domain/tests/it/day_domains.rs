//! The totals of a day that follow from buckets.

use std::sync::Arc;

use domain::day_domains::{DayDomains, Turn};
use domain::ids::ProjectId;
use domain::time::Day;

use crate::support::id;

const DAY: Day = Day(20_000);

#[test]
fn buckets_tell_the_totals_of_projects_that_count_for_one_domain() {
    let (ml, bio, old) = (ProjectId(id("ml")), ProjectId(id("bio")), ProjectId(id("old")));
    let (research, teaching): (Arc<str>, Arc<str>) = ("research".into(), "teaching".into());
    let mut known = DayDomains::default();
    assert!(!known.knows(DAY));
    known.learn(DAY, [(ml, Arc::clone(&research))], [ml, old]);
    assert!(known.knows(DAY) && !known.knows(DAY.plus(1)));
    let (new, long) = (ProjectId(id("new")), ProjectId(id("long")));
    // (project, its domain in a run, true if it has buckets of the day, the expected change, true if its totals follow from
    // buckets then)
    for (project, domain, in_buckets, turn, told) in [
        (ml, Some(&research), true, Turn::Stays, true),
        (old, Some(&research), true, Turn::Stays, false),
        (bio, Some(&teaching), true, Turn::Begins, true),
        (bio, Some(&teaching), true, Turn::Stays, true),
        (bio, Some(&research), true, Turn::Ends, false),
        (bio, Some(&teaching), true, Turn::Stays, false),
        (ml, Some(&research), false, Turn::Stays, true),
        (ml, None, true, Turn::Ends, false),
        (long, Some(&research), false, Turn::Stays, false),
        (long, Some(&research), true, Turn::Stays, false),
        (new, None, true, Turn::Stays, false),
        (new, Some(&research), true, Turn::Stays, false),
    ] {
        assert_eq!(known.count(DAY, project, domain, in_buckets), turn, "{project:?} {domain:?}");
        assert_eq!(known.are_told_by_buckets(DAY, project), told, "{project:?} {domain:?}");
    }
    known.forget_before(DAY.plus(1));
    assert!(!known.knows(DAY));
}
