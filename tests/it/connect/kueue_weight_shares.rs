//! The weights of LocalQueues, computed from those of their owners.

use std::collections::BTreeMap;

use fairshared::api::group_facts::GroupFacts;
use fairshared::api::people_tree::PeopleTree;
use fairshared::connectors::group_weights::GroupWeights;
use fairshared::connectors::kueue::owners::QueueOwner;
use fairshared::connectors::kueue::weights::queue_of_write;
use fairshared::connectors::kueue::weights::shares::{divide_weights, plain_text, weight_text};
use fairshared::connectors::scheduler::ValueWrite;
use proptest::prelude::*;
use serde_json::{Value, json};

fn group(default_weight: &str, domains: &Value) -> GroupWeights {
    let facts =
        json!({"config_revision": "1", "scheduler_opts": {"default_weight": default_weight, "half_life_days": 7}});
    let facts: GroupFacts = serde_json::from_value(facts).unwrap();
    let tree: PeopleTree = serde_json::from_value(json!({"resource_group": "g", "domains": domains})).unwrap();
    GroupWeights::new(&facts, tree).unwrap()
}

/// The weights of queues, each given as its key, domain, project and user.
fn weights(group: &GroupWeights, queues: &[(&str, &str, &str, Option<&str>)]) -> BTreeMap<String, String> {
    let owner = |(key, domain, project, user): &(&str, &str, &str, Option<&str>)| {
        let (domain, project) = ((*domain).to_owned(), (*project).to_owned());
        ((*key).to_owned(), QueueOwner { domain, project, user: user.map(str::to_owned) })
    };
    let divided = divide_weights(&queues.iter().map(owner).collect(), group);
    divided.into_iter().map(|(key, units)| (key, weight_text(units))).collect()
}

fn expected<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(key, weight)| (key.to_owned(), weight.to_owned())).into()
}

#[test]
fn a_domain_with_more_projects_has_no_more() {
    let group = group(
        "1.0",
        &json!([
            {"domain_name": "earth", "weight": "1", "weight_pinned": true, "projects": [
                {"project": "ice", "weight": "3", "domain_pinned": false, "users": []}, {"project": "sea", "weight": null, "users": []}
            ]},
            {"domain_name": "life", "weight": "2", "projects": [{"project": "cells", "users": []}]}
        ]),
    );
    // The project of which the server does not know is in the domain that the cluster names, with the default weight.
    let queues =
        [("a", "x", "ice", None), ("b", "x", "sea", None), ("c", "x", "cells", None), ("d", "life", "new", None)];
    assert_eq!(weights(&group, &queues[..3]), expected([("a", "0.75"), ("b", "0.25"), ("c", "2")]));
    let all = expected([("a", "1"), ("b", "0.333333"), ("c", "1.333333"), ("d", "1.333333")]);
    assert_eq!(weights(&group, &queues), all);
}

#[test]
fn users_and_several_queues_of_one_owner() {
    let group = group(
        "2",
        &json!([{"domain_name": "d", "projects": [
            {"project": "p", "users": [{"user": "ann", "weight": "6"}, {"user": "bob", "weight": null}]}, {"project": "q", "users": []}
        ]}]),
    );
    // Two queues of one owner have together the part of one.
    let queues = [
        ("ann", "d", "p", Some("ann")),
        ("bob-1", "d", "p", Some("bob")),
        ("bob-2", "d", "p", Some("bob")),
        ("q", "d", "q", None),
    ];
    let all = expected([("ann", "1.5"), ("bob-1", "0.25"), ("bob-2", "0.25"), ("q", "2")]);
    assert_eq!(weights(&group, &queues), all);
    assert_eq!(weights(&group, &[]), BTreeMap::new());
}

#[test]
fn the_largest_and_the_least_weights_give_no_weight_of_zero() {
    let [least, most] = ["0.0001", "999999.9999"];
    let project = |name: &str, weight: &str| json!({"project": name, "weight": weight, "users": [{"user": "u", "weight": weight}]});
    let group = group(
        most,
        &json!([
            {"domain_name": "low", "weight": least, "projects": [project("a", least), project("b", most)]},
            {"domain_name": "high", "weight": most, "projects": [project("c", most)]}
        ]),
    );
    let queues = [("a", "", "a", Some("u")), ("a-all", "", "a", None), ("b", "", "b", None), ("c", "", "c", None)];
    // A weight of 0 would be an infinite usage for Kueue.
    let all = expected([("a", "0.000001"), ("a-all", "0.000001"), ("b", "0.000001"), ("c", "4")]);
    assert_eq!(weights(&group, &queues), all);
}

#[test]
fn quantities_are_compared_as_numbers() {
    for (quantity, text) in [
        ("500m", "0.5"),
        ("0.50", "0.5"),
        ("1e3", "1000"),
        ("2k", "2000"),
        ("666667u", "0.666667"),
        ("1Ki", "1024"),
        ("0", "0"),
        // None of them is an amount, and each is equal to itself alone.
        ("-1", "-1"),
        ("1e99", "1e99"),
        ("0.0001n", "0.0001n"),
    ] {
        assert_eq!(plain_text(quantity), text, "{quantity}");
    }
    assert_eq!(weight_text(1_500_000), "1.5");
    assert_eq!(weight_text(i64::MAX), "9223372036854.775807");
}

#[test]
fn a_weight_of_the_server_that_is_none_is_a_fault() {
    let facts: GroupFacts =
        serde_json::from_value(json!({"config_revision": "1", "scheduler_opts": {"default_weight": "1.0"}})).unwrap();
    for weight in ["NaN", "0", "-1", "1e5", ""] {
        let tree = json!({"resource_group": "g", "domains": [{"domain_name": "d", "weight": weight, "projects": []}]});
        let fault = GroupWeights::new(&facts, serde_json::from_value(tree).unwrap()).unwrap_err();
        assert_eq!(fault.code, "unknown_format");
        assert!(fault.detail.starts_with(&format!("the server answered the weight {weight:?}: ")), "{fault}");
    }
}

#[test]
fn a_workload_in_a_namespace_of_the_name_of_the_kind_is_no_queue() {
    let queue_of = |job: &str| queue_of_write(&ValueWrite { job: job.to_owned(), value: 1 }).map(str::to_owned);
    assert_eq!(queue_of("localqueues/chem/main").as_deref(), Some("chem/main"));
    assert_eq!(queue_of("localqueues/a"), None);
    assert_eq!(queue_of("chem/a"), None);
}

proptest! {
    /// The mean of the weights is 1, siblings stand to each other as their own weights, and none is 0.
    #[test]
    fn parts_follow_weights(own in prop::collection::vec(prop::collection::vec(1_u32..10_000, 1..5), 1..5)) {
        let name = |domain: usize, project: usize| format!("p{domain}-{project}");
        let project = |domain: usize, (at, weight): (usize, &u32)| {
            json!({"project": name(domain, at), "weight": weight.to_string(), "users": []})
        };
        let domains: Vec<Value> = own.iter().enumerate().map(|(domain, projects)| json!({
            "domain_name": format!("d{domain}"), "weight": null,
            "projects": projects.iter().enumerate().map(|each| project(domain, each)).collect::<Vec<_>>()
        })).collect();
        let group = group("1.0", &json!(domains));
        let owner = |domain: usize, project: usize| {
            QueueOwner { domain: "x".to_owned(), project: name(domain, project), user: Some("u".to_owned()) }
        };
        let queues: BTreeMap<String, QueueOwner> = own.iter().enumerate().flat_map(|(domain, projects)| {
            (0..projects.len()).map(move |project| (name(domain, project), owner(domain, project)))
        }).collect();
        let divided = divide_weights(&queues, &group);
        let count = i64::try_from(queues.len()).unwrap();
        prop_assert!(divided.values().all(|units| *units > 0));
        prop_assert!((divided.values().sum::<i64>() - count * 1_000_000).abs() <= count);
        for (domain, projects) in own.iter().enumerate() {
            let sum: u32 = projects.iter().sum();
            let whole = count as f64 / own.len() as f64;
            for (project, weight) in projects.iter().enumerate() {
                let exact = whole * f64::from(*weight) / f64::from(sum);
                let found = divided[&name(domain, project)] as f64 / 1e6;
                prop_assert!((found - exact).abs() < 1e-6, "{found} {exact}");
            }
        }
    }
}
