//! Filters as values: nesting, literal patterns, day comparisons.

use domain::filter::{CompareOperator, DayMatch, Filter, PatternPlace, TextMatch};
use domain::time::Day;
use proptest::prelude::*;

use crate::support::{cases, day};

fn like(place: PatternPlace, pattern: &str, ignore_case: bool) -> TextMatch {
    TextMatch::Like { place, pattern: pattern.to_owned(), ignore_case }
}

fn one_of(values: &[&str], ignore_case: bool) -> TextMatch {
    TextMatch::In { values: values.iter().map(|v| (*v).to_owned()).collect(), ignore_case }
}

#[test]
fn text_conditions() {
    for (condition, text, holds) in [
        (like(PatternPlace::Whole, "research", false), "research", true),
        (like(PatternPlace::Whole, "research", false), "Research", false),
        (like(PatternPlace::Whole, "RESEARCH", true), "research", true),
        (like(PatternPlace::Anywhere, "sea", false), "research", true),
        (like(PatternPlace::Anywhere, "SEA", false), "research", false),
        (like(PatternPlace::Anywhere, "SEA", true), "research", true),
        (like(PatternPlace::Start, "re", false), "research", true),
        (like(PatternPlace::Start, "se", false), "research", false),
        (like(PatternPlace::End, "CH", true), "research", true),
        (like(PatternPlace::End, "re", false), "research", false),
        (like(PatternPlace::Anywhere, "", false), "research", true),
        // `%` and `_` are literal.
        (like(PatternPlace::Anywhere, "%", false), "research", false),
        (like(PatternPlace::Whole, "re%", false), "research", false),
        (like(PatternPlace::Whole, "_esearch", false), "research", false),
        (like(PatternPlace::Anywhere, "50%_", false), "a50%_b", true),
        (like(PatternPlace::Whole, "ÄÖ", true), "äö", true),
        (one_of(&["a", "b"], false), "b", true),
        (one_of(&["a", "b"], false), "B", false),
        (one_of(&["A", "B"], true), "b", true),
        (one_of(&[], true), "b", false),
    ] {
        assert_eq!(condition.holds(text), holds, "{condition:?} on {text}");
    }
}

#[test]
fn day_conditions() {
    let limit = day("2026-01-07");
    let table = [
        (CompareOperator::Equal, [false, true, false]),
        (CompareOperator::Less, [true, false, false]),
        (CompareOperator::LessOrEqual, [true, true, false]),
        (CompareOperator::Greater, [false, false, true]),
        (CompareOperator::GreaterOrEqual, [false, true, true]),
    ];
    for (compare, expected) in table {
        let found = ["2026-01-06", "2026-01-07", "2026-01-08"].map(|d| DayMatch { day: limit, compare }.holds(day(d)));
        assert_eq!(found, expected, "{compare:?}");
    }
}

#[test]
fn empty_parts() {
    let nothing = |_: &u8| false;
    assert!(Filter::everything().matches(&nothing));
    assert!(!Filter::Any(Vec::new()).matches(&nothing));
    assert!(!Filter::Not(Box::new(Filter::everything())).matches(&nothing));
}

/// A filter over bits of a byte, and the bytes that it lets pass by truth table.
fn filter() -> impl Strategy<Value = Filter<u8>> {
    let leaf = (0u8..8).prop_map(Filter::Is);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Filter::All),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Filter::Any),
            inner.prop_map(|f| Filter::Not(Box::new(f))),
        ]
    })
}

fn table(filter: &Filter<u8>) -> Vec<bool> {
    (0..=255u8).map(|byte| filter.matches(&|bit| byte >> bit & 1 == 1)).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn filters_obey_the_laws_of_logic(a in filter(), b in filter()) {
        let not = |f: &Filter<u8>| Filter::Not(Box::new(f.clone()));
        prop_assert_eq!(table(&not(&not(&a))), table(&a));
        let both = Filter::All(vec![a.clone(), b.clone()]);
        let neither = Filter::All(vec![not(&a), not(&b)]);
        let pairs: Vec<(bool, bool)> = table(&a).into_iter().zip(table(&b)).collect();
        prop_assert_eq!(table(&both), pairs.iter().map(|(x, y)| *x && *y).collect::<Vec<_>>());
        prop_assert_eq!(table(&not(&neither)), table(&Filter::Any(vec![a, b])));
    }

    #[test]
    fn one_comparison_holds_of_three(a in 0i32..50, b in 0i32..50) {
        let holds = |compare| DayMatch { day: Day(b), compare }.holds(Day(a));
        let strict = [CompareOperator::Less, CompareOperator::Equal, CompareOperator::Greater].map(holds);
        prop_assert_eq!(strict.iter().filter(|h| **h).count(), 1);
        prop_assert_eq!(holds(CompareOperator::LessOrEqual), strict[0] || strict[1]);
        prop_assert_eq!(holds(CompareOperator::GreaterOrEqual), strict[1] || strict[2]);
    }
}
