//! `GET /metadata` and the weights of decay: the facts that the web pages are drawn from.

use fairshared::domain::decay::RegisteredDecay;
use fairshared::domain::division::algorithm_names;
use fairshared::domain::reclaim::plugins::plugin_names;
use fairshared::domain::sequencer::Sequencer;
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::on_both;

/// The names in a list of facts.
fn names(facts: &Value) -> Vec<&str> {
    facts.as_array().unwrap().iter().map(|fact| fact["name"].as_str().unwrap()).collect()
}

/// Every option of a group that is a number, with the keys that lead to it.
fn numbers(path: &[&str], options: &Value, found: &mut Vec<(Vec<String>, Value)>) {
    for option in options.as_array().unwrap() {
        let path = [path, &[option["key"].as_str().unwrap()]].concat();
        if option["minimum"].is_string() {
            found.push((path.iter().map(|&key| key.to_owned()).collect(), option.clone()));
        }
        numbers(&path, &option["options"], found);
    }
}

/// The neighbours of a range: a number that is one unit of the last decimal below or above.
fn beyond(option: &Value) -> [Value; 2] {
    let decimals = usize::try_from(option["decimals"].as_u64().unwrap()).unwrap();
    let unit = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        format!("{whole}{part:0<decimals$}").parse::<i128>().unwrap()
    };
    let write = |units: i128| -> Value {
        if decimals == 0 {
            return serde_json::from_str(&units.to_string()).unwrap();
        }
        let one = 10i128.pow(u32::try_from(decimals).unwrap());
        let sign = if units < 0 { "-" } else { "" };
        format!("{sign}{}.{:0>decimals$}", units.abs() / one, units.abs() % one).into()
    };
    [write(unit(option["minimum"].as_str().unwrap()) - 1), write(unit(option["maximum"].as_str().unwrap()) + 1)]
}

/// A change of one option.
fn patch(path: &[String], value: &Value) -> Value {
    let options = path.iter().rev().fold(value.clone(), |inner, key| json!({ key: inner }));
    json!({ "scheduler_opts": options })
}

on_both! {
    async fn every_entry_of_a_registry_is_in_the_metadata(db: TestDb) {
        let server = Server::new(db).await;
        let facts = server.get("/metadata").await;
        assert_eq!(names(&facts["schedulers"]), Sequencer::names().collect::<Vec<_>>());
        assert_eq!(facts["default_scheduler"], server.get(&group("/scheduler-options")).await["scheduler"]);
        assert_eq!(names(&facts["decays"]), RegisteredDecay::choices().iter().map(|decay| decay.name).collect::<Vec<_>>());
        assert_eq!(names(&facts["division_algorithms"]), algorithm_names().collect::<Vec<_>>());
        assert_eq!(names(&facts["reclaim_plugins"]), plugin_names().collect::<Vec<_>>());
        assert_eq!(names(&facts["roles"]), Role::ALL.map(Role::as_str));
        for window in facts["fairness_windows"].as_array().unwrap() {
            server.get(&group(&format!("/fairness?window={}", window.as_str().unwrap()))).await;
        }
        let entry = server.get("/audit-log").await["items"][0]["action"].clone();
        assert!(names(&facts["audit_actions"]).contains(&entry.as_str().unwrap()), "{entry}");
        let mut jobs = names(&facts["jobs"]);
        jobs.sort_unstable();
        assert_eq!(jobs, names(&server.get("/jobs").await["items"]));
        // Every option in force is described.
        let shown = server.get(&group("/scheduler-options")).await;
        let keys: Vec<&str> = facts["options"].as_array().unwrap().iter().map(|option| option["key"].as_str().unwrap()).collect();
        for key in shown["scheduler_opts"].as_object().unwrap().keys() {
            assert!(keys.contains(&key.as_str()), "{key}");
        }
    }

    async fn the_metadata_of_graphql_is_that_of_rest(db: TestDb) {
        let server = Server::new(db).await;
        let facts = server.get("/metadata").await;
        let asked = "{ metadata { schedulers { name summary progressive queues } options { key title section type minimum maximum decimals \
                     unset unit summary read_by default choices { name summary } } queue_keys { key type minimum maximum } \
                     weight { minimum maximum decimals } session_seconds } }";
        let answer = server.graphql(asked).await;
        let found = &answer["data"]["metadata"];
        assert_eq!(found["schedulers"], facts["schedulers"]);
        assert_eq!(found["session_seconds"], facts["session_seconds"]);
        let options = facts["options"].as_array().unwrap();
        assert_eq!(found["options"].as_array().unwrap().len(), options.len());
        for (found, option) in found["options"].as_array().unwrap().iter().zip(options) {
            let default = found["default"].as_str().map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(default.unwrap_or_default(), option["default"]);
            for key in ["key", "title", "section", "type", "minimum", "maximum", "decimals", "unset", "unit", "summary", "choices", "read_by"] {
                assert_eq!(found[key], option[key], "{key} of {}", option["key"]);
            }
        }
    }

    async fn the_ends_of_each_range_are_taken_and_their_neighbours_refused(db: TestDb) {
        let server = Server::new(db).await;
        let mut all = Vec::new();
        numbers(&[], &server.get("/metadata").await["options"], &mut all);
        assert!(all.len() >= 13);
        for (path, option) in all {
            // A bucket may be as long as the look-back.
            server.options(&json!({"lookback_days": 3650})).await;
            let end = |key: &str| -> Value {
                let text = option[key].as_str().unwrap();
                if option["type"] == "integer" { serde_json::from_str(text).unwrap() } else { text.into() }
            };
            for legal in [end("minimum"), end("maximum"), option["default"].clone()] {
                server.call("PATCH", &group("/scheduler-options"), Some(&patch(&path, &legal))).await.json(200);
            }
            for illegal in beyond(&option) {
                let answer = server.call("PATCH", &group("/scheduler-options"), Some(&patch(&path, &illegal))).await;
                assert_eq!(answer.status, 422, "{path:?} takes {illegal}");
                let pointer = format!("/scheduler_opts/{}", path.join("/"));
                assert_eq!(answer.json(422)["errors"][0]["pointer"], pointer.as_str(), "{illegal}");
            }
            server.call("PATCH", &group("/scheduler-options"), Some(&patch(&path, &Value::Null))).await.json(200);
        }
    }

    async fn usage_of_each_age_counts_as_the_group_decays(db: TestDb) {
        let server = Server::new(db).await;
        server.options(&json!({"half_life_days": 2, "lookback_days": 5})).await;
        let weights = server.get(&group("/decay-weights")).await;
        assert_eq!(weights, json!({
            "decay": "flat", "half_life_days": 2, "lookback_days": 5, "weights": ["1", "1", "0.5", "0.5", "0.25"]
        }));
        server.options(&json!({"decay": "continuous"})).await;
        let weights = server.get(&group("/decay-weights")).await;
        let shown = server.graphql("{ resource_group(name: \"gpu-cluster\") { decay_weights } }").await;
        assert_eq!(shown["data"]["resource_group"]["decay_weights"], weights["weights"]);
        let parsed: Vec<f64> = weights["weights"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().parse().unwrap()).collect();
        assert_eq!(parsed, [1.0, 0.5f64.powf(0.5), 0.5, 0.5f64.powf(1.5), 0.25]);
        server.call("GET", "/resource-groups/none/decay-weights", None).await.refused(404, "unknown_resource_group");
    }
}
