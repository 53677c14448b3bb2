//! The facts about options and registries: they are complete, and the checks enforce the ranges that they say.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::decimal::Amount;
use domain::division::{algorithm_names, check};
use domain::metadata::{OptionEntry, QueueKeyEntry, RuleFacts};
use domain::options::{FairShareOptions, merge_patch};
use domain::queues::QueueConfig;
use domain::reclaim::plugins::plugin_names;
use domain::sequencer::Sequencer;
use domain::slots::SlotAmounts;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::cases;

/// An option of numbers, with the keys that lead to it.
struct Numbers {
    path: Vec<&'static str>,
    minimum: String,
    maximum: String,
    decimals: u32,
}

fn collect(path: &[&'static str], options: &[OptionEntry], found: &mut Vec<Numbers>) {
    for option in options {
        let path = [path, &[option.key]].concat();
        if let (Some(minimum), Some(maximum), Some(decimals)) = (&option.minimum, &option.maximum, option.decimals) {
            let (minimum, maximum) = (minimum.clone(), maximum.clone());
            found.push(Numbers { path: path.clone(), minimum, maximum, decimals });
        }
        collect(&path, &option.options, found);
    }
}

/// All options of a group that are numbers.
fn numbers() -> Vec<Numbers> {
    let mut found = Vec::new();
    collect(&[], &RuleFacts::collect().options, &mut found);
    found
}

/// The value as the option takes it: a number, or a decimal as text.
fn written(units: i128, decimals: u32) -> Value {
    if decimals == 0 {
        return serde_json::from_str(&units.to_string()).expect("a number");
    }
    let (sign, unit) = (if units < 0 { "-" } else { "" }, 10i128.pow(decimals));
    let (whole, part) = (units.abs() / unit, units.abs() % unit);
    format!("{sign}{whole}.{part:0>places$}", places = decimals as usize).into()
}

/// The number in units of its last decimal.
fn units(text: &str, decimals: u32) -> i128 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{part:0<places$}", places = decimals as usize).parse().expect("a number")
}

/// True if the option takes the value. Otherwise there is one fault, at the option.
fn takes(path: &[&str], value: Value) -> bool {
    // A bucket may be as long as the look-back.
    let stored = Map::from_iter([("lookback_days".to_owned(), json!(3650))]);
    let patch = path.iter().rev().fold(value, |inner, key| json!({ *key: inner }));
    match merge_patch(&stored, patch.as_object().expect("an object")) {
        Ok(_) => true,
        Err(faults) => {
            let pointers: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
            assert_eq!(pointers, [format!("/{}", path.join("/"))]);
            false
        }
    }
}

#[test]
fn every_entry_of_a_registry_is_there() {
    let facts = RuleFacts::collect();
    assert_eq!(facts.schedulers.iter().map(|s| s.name).collect::<Vec<_>>(), Sequencer::names().collect::<Vec<_>>());
    let names = |choices: &[domain::choices::NamedChoice]| choices.iter().map(|choice| choice.name).collect::<Vec<_>>();
    assert_eq!(names(&facts.division_algorithms), algorithm_names().collect::<Vec<_>>());
    assert_eq!(names(&facts.reclaim_plugins), plugin_names().collect::<Vec<_>>());
    assert_eq!(names(&facts.decays), ["flat", "continuous", "slurm"]);
    for name in names(&facts.decays) {
        assert!(takes(&["decay"], name.into()), "{name}");
    }
    let choices = [
        facts.decays,
        facts.division_algorithms,
        facts.reclaim_plugins,
        facts.reclaim_rules,
        facts.reclaim_verdicts,
        facts.queue_states,
    ]
    .concat();
    let sentences = facts.schedulers.iter().map(|s| s.summary).chain(choices.iter().map(|choice| choice.summary));
    for said in sentences {
        assert!(said.ends_with('.') && said.starts_with(char::is_uppercase), "{said:?} is a sentence");
    }
}

#[test]
fn every_option_is_described() {
    let facts = RuleFacts::collect();
    let keys = |options: &[OptionEntry]| options.iter().map(|option| option.key).collect::<BTreeSet<_>>();
    let shown = FairShareOptions::default().to_json();
    for key in shown.keys() {
        assert!(keys(&facts.options).contains(key.as_str()), "{key}");
    }
    // The object has the options of all its parts, those included that are off.
    let defaults = serde_json::to_value(domain::reclaim::ReclaimOptions::default()).expect("JSON");
    let known: BTreeSet<&str> = defaults.as_object().expect("an object").keys().map(String::as_str).collect();
    let parts: Vec<_> = facts.division_options.iter().chain(&facts.reclaim_options).cloned().collect();
    assert_eq!(keys(&parts), known);
    assert_eq!(parts.len(), known.len(), "an option belongs to one part");
    let division = facts.options.iter().find(|option| option.key == "division").expect("the division");
    assert_eq!(keys(&division.options[1].options), known);
    let weights = parts.iter().find(|option| option.key == "score_weights").expect("the weights of the score");
    let inner: BTreeSet<&str> =
        defaults["score_weights"].as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys(&weights.options), inner);
    // Queues.
    let queue = serde_json::to_value(QueueConfig::default()).expect("JSON");
    let known: BTreeSet<&str> =
        queue.as_object().expect("an object").keys().map(String::as_str).filter(|key| *key != "name").collect();
    assert_eq!(facts.queue_keys.iter().map(|key| key.key).collect::<BTreeSet<_>>(), known);
}

#[test]
fn the_defaults_are_those_of_absent_keys() {
    let facts = RuleFacts::collect();
    for option in &facts.options {
        let absent = option.default.is_null();
        assert_eq!(absent, option.unset.is_some(), "{}: a default, or the meaning of none", option.key);
        let stored = Map::from_iter([(option.key.to_owned(), option.default.clone())]);
        assert_eq!(
            FairShareOptions::parse(&stored).expect("a default is legal"),
            FairShareOptions::default(),
            "{}",
            option.key
        );
    }
}

#[test]
fn every_choice_is_taken_and_no_other() {
    fn walk(path: &[&'static str], options: &[OptionEntry]) {
        for option in options {
            let path = [path, &[option.key]].concat();
            for choice in &option.choices {
                let value = if option.kind == "choices" { json!([choice.name]) } else { choice.name.into() };
                assert!(takes(&path, value), "{path:?} takes {}", choice.name);
            }
            if option.kind == "choice" {
                assert!(!takes(&path, "none-of-them".into()), "{path:?}");
            }
            walk(&path, &option.options);
        }
    }
    walk(&[], &RuleFacts::collect().options);
}

#[test]
fn the_ends_of_every_range_are_taken_and_their_neighbours_refused() {
    let all = numbers();
    assert!(all.len() >= 13, "{} options are numbers", all.len());
    for Numbers { path, minimum, maximum, decimals } in all {
        let (low, high) = (units(&minimum, decimals), units(&maximum, decimals));
        for (value, is_legal) in [(low, true), (high, true), (low - 1, false), (high + 1, false)] {
            assert_eq!(takes(&path, written(value, decimals)), is_legal, "{path:?} and {value} of 10^-{decimals}");
        }
        let finer =
            format!("{minimum}{}{}1", if minimum.contains('.') { "" } else { "." }, "0".repeat(decimals as usize));
        assert!(!takes(&path, finer.clone().into()), "{path:?} and {finer}, which has too many decimals");
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_number_is_taken_if_and_only_if_it_is_in_the_range(at in any::<prop::sample::Index>(), part in -1.0f64..2.0) {
        let all = numbers();
        let Numbers { path, minimum, maximum, decimals } = &all[at.index(all.len())];
        let (low, high) = (units(minimum, *decimals), units(maximum, *decimals));
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any number will do")]
        let value = low + ((high - low) as f64 * part) as i128;
        prop_assert_eq!(takes(path, written(value, *decimals)), (low..=high).contains(&value));
    }
}

#[test]
fn the_ranges_of_a_queue_are_those_of_its_check() {
    let options = FairShareOptions::default().division;
    let legal = |key: &str, value: Value| {
        let queue = serde_json::from_value::<QueueConfig>(json!({"name": "a", key: value}));
        let checked = |queue| {
            check(
                &[Arc::new(queue)],
                std::iter::empty(),
                &SlotAmounts::default(),
                (options.algorithm(), &options.options),
            )
        };
        queue.is_ok_and(|queue| checked(queue).is_ok())
    };
    let with_range = |key: &QueueKeyEntry| key.minimum.is_some();
    let keys: Vec<_> = RuleFacts::collect().queue_keys.into_iter().filter(with_range).collect();
    assert_eq!(keys.len(), 5);
    for QueueKeyEntry { key, minimum, maximum, decimals, .. } in keys {
        let decimals = decimals.expect("decimals");
        let (low, high) =
            (units(&minimum.expect("a minimum"), decimals), units(&maximum.expect("a maximum"), decimals));
        for (value, is_legal) in [(low, true), (high, true), (low - 1, false), (high + 1, false)] {
            assert_eq!(legal(key, written(value, decimals)), is_legal, "{key} and {value} of 10^-{decimals}");
        }
    }
}

#[test]
fn a_weight_has_the_range_that_is_read() {
    let weight = RuleFacts::collect().weight;
    let (low, high) = (weight.minimum.expect("a minimum"), weight.maximum.expect("a maximum"));
    assert!(low.parse::<Amount>().expect("a decimal") > Amount::ZERO);
    for (text, is_legal) in [(low.as_str(), true), (high.as_str(), true), ("0", false), ("1000000", false)] {
        assert_eq!(domain::weight::Weight::parse(text).is_ok(), is_legal, "{text}");
    }
}
