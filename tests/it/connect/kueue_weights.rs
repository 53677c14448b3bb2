//! The mode `weights` of the connector for Kueue: the weights of LocalQueues for `AdmissionFairSharing`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::connectors::connector_monitor::ConnectorMonitor;
use fairshared::connectors::outcome::RoundOutcome;
use fairshared::connectors::state_file::ConnectorState;
use fairshared::domain::connectors::ConnectorMode;
use fairshared::domain::time::MICROS_PER_HOUR;
use fairshared::service::SystemClock;
use serde_json::{Value, json};

use super::condor_stand_ins::{check_outcome, failed_outcome};
use super::kueue_objects::{cluster_queue, local_queue, workload};
use super::kueue_rig::KueueRig;
use crate::cli::program::end;

const WEIGHTS: &str = "mode = \"weights\"";
/// A server that does not answer.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Lets Kueue order a `ClusterQueue` by the usage of its LocalQueues, or not.
fn order_by_usage(rig: &KueueRig, is_on: bool) {
    let mut queue = cluster_queue("gpus", "science");
    let mode = if is_on { "UsageBasedAdmissionFairSharing" } else { "NoAdmissionFairSharing" };
    queue["spec"]["admissionScope"] = json!({"admissionMode": mode});
    rig.stub.state().put("clusterqueues", queue);
}

fn set_project_weight(rig: &KueueRig, project: &str, weight: &str) {
    rig.ask(&["weights", "set", "kubernetes", "project", project, weight]).ok();
}

/// A cluster whose three LocalQueues are ordered by usage, and a server with weights 3, 1 and 1 for their projects.
fn weighed() -> KueueRig {
    let rig = KueueRig::start();
    order_by_usage(&rig, true);
    for project in ["chem", "ocean", "physics"] {
        rig.ask(&["projects", "set", project, "--domain", "science"]).ok();
    }
    set_project_weight(&rig, "chem", "3");
    rig
}

/// Gives a LocalQueue a weight as another writer does; `null` takes it away.
fn write_weight(rig: &KueueRig, key: &str, weight: &Value) {
    rig.stub.state().change("localqueues", key, |queue| {
        if weight.is_null() {
            queue["spec"].as_object_mut().unwrap().remove("fairSharing");
        } else {
            queue["spec"]["fairSharing"] = json!({"weight": weight});
        }
        queue["metadata"]["managedFields"] = json!([{
            "manager": "kubectl-edit", "operation": "Update",
            "fieldsV1": {"f:spec": {"f:fairSharing": {"f:weight": {}}}}
        }]);
    });
}

/// The weights of the three LocalQueues; `null` for one without.
fn shown(rig: &KueueRig) -> [Value; 3] {
    let weights = rig.stub.state().weights();
    ["chem/main", "ocean/main", "physics/main"].map(|key| weights.get(key).cloned().unwrap_or_default())
}

fn counts<const N: usize>(outcome: &Value, keys: [&str; N]) -> [u64; N] {
    keys.map(|key| outcome[key].as_u64().unwrap_or_else(|| panic!("{key} of {outcome}")))
}

fn codes(outcome: &RoundOutcome) -> Vec<&str> {
    outcome.errors.iter().map(|error| &*error.code).collect()
}

#[test]
fn local_queues_get_the_part_of_their_owner() {
    let rig = weighed();
    rig.stub.state().put("workloads", workload("chem/a", "alice", 60, 0));
    let mut rounds = rig.running(WEIGHTS);
    let outcome = rounds.round();
    assert_eq!((outcome.wanted_writes, outcome.written, outcome.read_back_differs), (3, 3, 0), "{outcome:?}");
    assert_eq!((outcome.mode, outcome.counts.eligible), (ConnectorMode::Weights, 1));
    assert_eq!(shown(&rig), ["1.8", "0.6", "0.6"]);
    for request in rig.stub.state().requests_of("PATCH") {
        let (address, body) = request.split_once(" {").unwrap();
        let body: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
        let weight = body["spec"]["fairSharing"]["weight"].clone();
        let version = body["metadata"]["resourceVersion"].clone();
        let expected = json!({"metadata": {"resourceVersion": version}, "spec": {"fairSharing": {"weight": weight}}});
        assert!(version.is_string() && address.contains("/localqueues/main?"), "{request}");
        assert!(body == expected && address.contains("fieldManager=fairshared"), "{request}");
    }
    // Equal weights in another form are no difference, and only those that differ are written.
    rig.stub.state().change("localqueues", "chem/main", |queue| {
        queue["spec"]["fairSharing"]["weight"] = "1800m".into();
    });
    assert_eq!((rounds.round().wanted_writes, rig.patches()), (0, 3));
    set_project_weight(&rig, "ocean", "3");
    set_project_weight(&rig, "physics", "3");
    assert_eq!(rounds.round().written, 3);
    assert_eq!(shown(&rig), ["1", "1", "1"]);
    // A queue that comes changes the parts of all.
    let mut second = local_queue("ocean", "gpus");
    second["metadata"]["name"] = "second".into();
    rig.stub.state().put("localqueues", second);
    assert_eq!(rounds.round().written, 4);
    assert_eq!(rig.stub.state().weights()["ocean/second"], "0.666667");
    // Outside of queues that are ordered by usage Kueue does not look at weights, so that they are given back.
    order_by_usage(&rig, false);
    assert_eq!(rounds.round().written, 4);
    assert_eq!(rig.stub.state().weights(), BTreeMap::new());
    assert_eq!(ConnectorState::load(&rig.state_dir()).unwrap().written, BTreeMap::new());
}

#[test]
fn owners_of_equal_weights_are_not_written() {
    let rig = weighed();
    set_project_weight(&rig, "chem", "1");
    // Kueue counts 1 for a queue without a weight.
    write_weight(&rig, "ocean/main", &json!(1));
    let outcome = rig.round(WEIGHTS);
    assert_eq!((counts(&outcome, ["wanted_writes", "fixed"]), rig.patches()), ([0, 0], 0), "{outcome}");
    assert_eq!(shown(&rig), [Value::Null, json!(1), Value::Null]);
}

#[test]
fn users_and_labels() {
    let rig = weighed();
    {
        let mut state = rig.stub.state();
        state.put("clusterqueues", cluster_queue("cpus", "other"));
        for (name, user) in [("of-alice", "alice"), ("of-bob", "bob")] {
            let mut queue = local_queue("ocean", "gpus");
            queue["metadata"]["name"] = name.into();
            queue["metadata"]["labels"] = json!({"example.org/user": user, "example.org/project": "sea"});
            state.put("localqueues", queue);
        }
        // A queue of a ClusterQueue that is not ordered by usage, and one whose ClusterQueue is not there, have no part.
        for (name, of) in [("cpus", "cpus"), ("lost", "nowhere")] {
            let mut queue = local_queue("ocean", of);
            queue["metadata"]["name"] = name.into();
            state.put("localqueues", queue);
        }
        state.delete("localqueues", "physics/main");
    }
    for user in ["alice", "bob"] {
        rig.ask(&["users", "set", user]).ok();
    }
    rig.ask(&["projects", "set", "sea", "--domain", "science"]).ok();
    // Its first queue by name is in another cohort, but the group has the project in this domain.
    set_project_weight(&rig, "ocean", "1");
    rig.ask(&["weights", "set", "kubernetes", "user", "alice", "3", "--project", "sea"]).ok();
    rig.round(&format!("{WEIGHTS}\nproject_label = \"example.org/project\""));
    let weights = rig.stub.state().weights();
    // chem has 3 of 5 parts, and ocean and sea 1; alice has three quarters of sea.
    let expected = [("chem/main", "2.4"), ("ocean/main", "0.8"), ("ocean/of-alice", "0.6"), ("ocean/of-bob", "0.2")];
    assert_eq!(weights, expected.map(|(key, weight)| (key.to_owned(), json!(weight))).into());
}

#[test]
fn weights_from_before_are_given_back() {
    let rig = weighed();
    write_weight(&rig, "chem/main", &json!(4));
    write_weight(&rig, "ocean/main", &json!("-1"));
    rig.round(WEIGHTS);
    assert_eq!(shown(&rig), ["1.8", "0.6", "0.6"]);
    // A later change of weights does not become what was there before.
    set_project_weight(&rig, "chem", "1");
    rig.round(WEIGHTS);
    assert_eq!(shown(&rig), ["1", "1", "1"]);
    // A reset needs no server, and knows no bound.
    let reset = end(&mut rig.connector_to(NOWHERE, "max_writes = 1", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["written", "left", "read_back_differs"]), [3, 0, 0], "{reset}");
    assert_eq!(shown(&rig), [json!("4"), json!("-1"), Value::Null]);
    assert_eq!(ConnectorState::load(&rig.state_dir()).unwrap().written, BTreeMap::new());
    let reset = end(&mut rig.connector("", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["wanted_writes", "written"]), [0, 0]);
}

#[test]
fn without_its_memory_a_reset_takes_its_own_weights_away() {
    let rig = weighed();
    rig.round(WEIGHTS);
    write_weight(&rig, "physics/main", &json!("5"));
    std::fs::remove_dir_all(rig.state_dir()).unwrap();
    let reset = end(&mut rig.connector_to(NOWHERE, "", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["written", "read_back_differs"]), [2, 0], "{reset}");
    assert_eq!(shown(&rig), [Value::Null, Value::Null, json!("5")]);
}

#[test]
fn a_weight_that_another_writer_has_changed_stays() {
    let rig = weighed();
    rig.round(WEIGHTS);
    write_weight(&rig, "ocean/main", &json!("7"));
    set_project_weight(&rig, "chem", "8");
    let outcome = rig.round(WEIGHTS);
    assert_eq!(counts(&outcome, ["fixed", "written"]), [1, 2], "{outcome}");
    assert_eq!(shown(&rig), ["2.4", "7", "0.3"]);
    let (report, failed) = check_outcome(rig.connector(WEIGHTS, &["--check", "-o", "json"]));
    assert!(failed.contains(&"warning weight_writers".to_owned()), "{report:#}");
    let checks = report["checks"].as_array().unwrap();
    let writers = checks.iter().find(|check| check["name"] == "weight_writers").unwrap();
    let detail = "another writer has changed the weights of these LocalQueues, which stay as they are: ocean/main";
    assert_eq!(writers["detail"], detail);
    end(&mut rig.connector("", &["--reset"])).ok();
    assert_eq!(shown(&rig), [Value::Null, json!("7"), Value::Null]);
    // It stays as well when the connector starts again, until the writer takes it away.
    assert_eq!(counts(&rig.round(WEIGHTS), ["fixed", "written"]), [1, 2]);
    write_weight(&rig, "ocean/main", &Value::Null);
    assert_eq!(counts(&rig.round(WEIGHTS), ["fixed", "written"]), [0, 1]);
    assert_eq!(shown(&rig), ["2.4", "0.3", "0.3"]);
    end(&mut rig.connector("", &["--reset"])).ok();
    assert_eq!(shown(&rig), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn two_connectors_do_not_overwrite_each_other() {
    let rig = weighed();
    let mut first = rig.running(WEIGHTS);
    first.round();
    set_project_weight(&rig, "chem", "8");
    let second = format!("{WEIGHTS}\nstate_dir = {:?}", rig.folder.path().join("other"));
    assert_eq!(counts(&rig.round(&second), ["written"]), [3]);
    set_project_weight(&rig, "chem", "3");
    let outcome = first.round();
    assert_eq!((outcome.counts.fixed, outcome.wanted_writes), (3, 0), "{outcome:?}");
    assert_eq!(shown(&rig), ["2.4", "0.3", "0.3"]);
}

#[test]
fn a_queue_that_changes_meanwhile_is_read_again() {
    let rig = weighed();
    rig.stub.state().faults.conflicts.push(|queue| queue["metadata"]["labels"] = json!({"a": "b"}));
    let outcome = rig.round(WEIGHTS);
    assert_eq!(counts(&outcome, ["written", "read_back_differs"]), [3, 0], "{outcome}");
    end(&mut rig.connector("", &["--reset"])).ok();

    // One that gets a weight in between is left to the next round, which gives it back later.
    rig.stub.state().faults.conflicts.push(|queue| queue["spec"]["fairSharing"] = json!({"weight": "9"}));
    let outcome = rig.round(WEIGHTS);
    assert_eq!(counts(&outcome, ["wanted_writes", "written", "read_back_differs"]), [3, 2, 0], "{outcome}");
    assert_eq!(shown(&rig), ["9", "0.6", "0.6"]);
    assert_eq!(counts(&rig.round(WEIGHTS), ["fixed", "written"]), [0, 1]);
    assert_eq!(shown(&rig), ["1.8", "0.6", "0.6"]);
    end(&mut rig.connector("", &["--reset"])).ok();
    assert_eq!(shown(&rig), [json!("9"), Value::Null, Value::Null]);

    // One that changes again and again is a fault.
    for _ in 0..3 {
        rig.stub.state().faults.conflicts.push(|queue| {
            let count = queue["metadata"]["labels"]["count"].as_str().unwrap_or_default().len();
            queue["metadata"]["labels"] = json!({"count": "x".repeat(count + 1)});
        });
    }
    let (outcome, codes) = rig.failed_round(WEIGHTS);
    assert_eq!((codes, counts(&outcome, ["written"])), (vec!["write_failed".to_owned()], [2]), "{outcome}");
}

#[test]
fn a_queue_that_is_deleted_or_made_again() {
    let rig = weighed();
    let mut rounds = rig.running(WEIGHTS);
    rig.stub.state().faults.vanishes = Some("ocean/main".to_owned());
    let outcome = rounds.round();
    assert_eq!((outcome.wanted_writes, outcome.written, outcome.read_back_differs), (3, 2, 0), "{outcome:?}");
    // Two queues are left: three quarters and a quarter of two.
    assert_eq!(rounds.round().written, 2);
    assert_eq!(shown(&rig), [json!("1.5"), Value::Null, json!("0.5")]);
    {
        let mut state = rig.stub.state();
        state.delete("localqueues", "chem/main");
        let mut again = local_queue("chem", "gpus");
        again["metadata"]["uid"] = "uid-again".into();
        again["spec"]["fairSharing"] = json!({"weight": "6"});
        state.put("localqueues", again);
    }
    let outcome = rounds.round();
    assert_eq!((outcome.written, outcome.counts.fixed), (1, 0), "{outcome:?}");
    end(&mut rig.connector("", &["--reset"])).ok();
    assert_eq!(shown(&rig), [json!("6"), Value::Null, Value::Null]);
}

#[test]
fn a_right_that_is_missing_ends_the_writing() {
    let rig = weighed();
    rig.stub.state().faults.denied.insert("patch localqueues".to_owned());
    let mut rounds = rig.running(WEIGHTS);
    let outcome = rounds.run();
    assert_eq!((codes(&outcome), outcome.wanted_writes, outcome.written), (vec!["kubernetes_right"], 3, 0));
    assert!(outcome.errors[0].detail.starts_with("Kubernetes refuses to write to LocalQueues: localqueues is"));
    // One attempt is enough to know.
    assert_eq!((rig.patches(), shown(&rig)), (1, [Value::Null, Value::Null, Value::Null]));
    let monitor =
        ConnectorMonitor::new("kueue", outcome.mode, std::time::Duration::from_secs(15), Arc::new(SystemClock));
    monitor.record_round(&outcome, 0);
    let metrics = monitor.render();
    assert!(metrics.contains("fairshared_connector_round_errors_total{code=\"kubernetes_right\"} 1"), "{metrics}");
    assert!(metrics.contains("mode=\"weights\""), "{metrics}");
    // A weight that another writer sets before the first write has come is the one from before.
    write_weight(&rig, "chem/main", &json!("9"));
    rig.stub.state().faults.denied.clear();
    let outcome = rounds.round();
    assert_eq!((outcome.written, outcome.counts.fixed), (3, 0), "{outcome:?}");
    end(&mut rig.connector("", &["--reset"])).ok();
    assert_eq!(shown(&rig), [json!("9"), Value::Null, Value::Null]);
}

#[test]
fn a_kueue_that_does_not_know_weights_is_named() {
    let rig = weighed();
    rig.stub.state().faults.drops_weights = true;
    let mut rounds = rig.running(&format!("{WEIGHTS}\nsetup = \"2m\""));
    let outcome = rounds.run();
    assert_eq!((outcome.written, outcome.read_back_differs, rig.patches()), (1, 1, 1), "{outcome:?}");
    assert_eq!(codes(&outcome), ["localqueue_weights", "read_back_differs"]);
    let detail = "the API server drops the weight of the LocalQueue chem/main: Kueue has weights of LocalQueues since its version 0.12";
    assert_eq!(outcome.errors[0].detail, detail);
    // It is not tried again in each round, but when the setup is read again.
    let outcome = rounds.run();
    assert_eq!((codes(&outcome), rig.patches()), (vec!["localqueue_weights"], 1), "{outcome:?}");
    rig.stub.state().faults.drops_weights = false;
    assert_eq!(rounds.round().written, 3);
    assert_eq!(shown(&rig), ["1.8", "0.6", "0.6"]);
}

#[test]
fn writes_are_bounded() {
    let rig = weighed();
    let keys = format!("{WEIGHTS}\nmax_writes = 2");
    assert_eq!(counts(&rig.round(&keys), ["wanted_writes", "written", "left"]), [3, 2, 1]);
    assert_eq!(counts(&rig.round(&keys), ["wanted_writes", "written", "left"]), [1, 1, 0]);
    assert_eq!(shown(&rig), ["1.8", "0.6", "0.6"]);
}

#[test]
fn shadow_and_a_check_write_no_weights() {
    let rig = weighed();
    let shadow = end(&mut rig.connector(WEIGHTS, &["--once", "--shadow", "-o", "json"])).json();
    assert_eq!((&shadow["mode"], &shadow["wanted_writes"]), (&json!("shadow"), &json!(0)));
    assert_eq!(rig.patches(), 0);
    check_outcome(rig.connector(WEIGHTS, &["--check", "-o", "json"]));
    let patches = rig.stub.state().requests_of("PATCH").into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert!(!patches.is_empty() && patches.iter().all(|patch| patch.contains("dryRun=All")), "{patches:?}");
    assert_eq!(shown(&rig), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn a_mode_takes_back_what_another_has_written() {
    let rig = weighed();
    rig.stub.state().put("workloads", workload("chem/a", "alice", 60, 0));
    order_by_usage(&rig, false);
    rig.round("mode = \"order\"");
    assert_eq!(rig.boosts().len(), 1);
    order_by_usage(&rig, true);
    assert_eq!(counts(&rig.round(WEIGHTS), ["written"]), [4]);
    assert_eq!((rig.boosts().len(), shown(&rig)), (0, ["1.8", "0.6", "0.6"].map(Value::from)));
    assert_eq!(counts(&rig.round("mode = \"order\""), ["written"]), [3]);
    assert_eq!(shown(&rig), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn weights_stay_while_the_server_is_away_and_fade_if_that_is_set() {
    let rig = weighed();
    write_weight(&rig, "chem/main", &json!("2"));
    rig.round(WEIGHTS);
    let away = |keys: &str| failed_outcome(rig.connector_to(NOWHERE, keys, &["--once", "-o", "json"]));
    let (_, codes) = away(WEIGHTS);
    assert_eq!((codes, shown(&rig)), (vec!["server_away".to_owned()], ["1.8", "0.6", "0.6"].map(Value::from)));
    let mut state = ConnectorState::load(&rig.state_dir()).unwrap();
    state.server_answered_at = state.server_answered_at.map(|time| time.plus_micros(-MICROS_PER_HOUR));
    state.save(&rig.state_dir()).unwrap();
    let (outcome, _) = away(&format!("{WEIGHTS}\nstale_after = \"30m\""));
    assert_eq!(counts(&outcome, ["written"]), [3], "{outcome}");
    assert_eq!(shown(&rig), [json!("2"), Value::Null, Value::Null]);
}

/// The role that the documentation names for connectors may read the weights that it needs.
#[test]
fn a_key_of_the_role_connector_is_enough() {
    let rig = weighed();
    let key = rig.ask(&["keys", "create", "--role", "connector", "--label", "limited", "--group", "kubernetes"]).ok();
    let mut command = rig.connector(WEIGHTS, &["--once", "-o", "json"]);
    command.env("FAIRSHARED_KEY", key.trim_end());
    let outcome = end(&mut command).json();
    assert_eq!(counts(&outcome, ["written"]), [3], "{outcome}");
    let listed = rig.ask(&["connectors", "list", "-o", "json"]).json();
    assert_eq!(listed["items"][0]["mode"], "weights");
}

fn details(report: &Value) -> BTreeMap<&str, &str> {
    let checks = report["checks"].as_array().unwrap().iter();
    checks.map(|check| (check["name"].as_str().unwrap(), check["detail"].as_str().unwrap())).collect()
}

#[test]
fn the_checks_of_the_mode() {
    let rig = weighed();
    {
        let mut state = rig.stub.state();
        state.change("localqueues", "chem/main", |queue| {
            queue["status"] = json!({"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": {
                "consumedResources": {"cpu": "31999m"}, "lastUpdate": "2026-06-03T14:25:15Z"
            }}});
        });
        // A right that this mode does not need is not missed, and neither is a Workload to try the gate on.
        state.faults.denied.insert("patch workloads".to_owned());
        state.versions = vec!["v1beta1"];
    }
    write_weight(&rig, "physics/main", &json!("2"));
    let check = |keys: &str| check_outcome(rig.connector(keys, &["--check", "-o", "json"]));
    let (report, failed) = check(WEIGHTS);
    assert_eq!(failed, [""; 0], "{report:#}");
    let found = details(&report);
    assert_eq!(found["usage_order"], "3 LocalQueues have weights, in the ClusterQueues gpus");
    let replaced = "the weights of these LocalQueues are replaced, and --reset gives them back: physics/main";
    assert_eq!(found["weight_writers"], replaced);
    for name in ["usage_record", "localqueue_weights", "queue_owners", "api_version"] {
        assert!(found.contains_key(name), "{found:?}");
    }
    for name in ["priority_boost_gate", "preemption", "admission_fair_sharing", "priority_classes"] {
        assert!(!found.contains_key(name), "{found:?}");
    }
    let queues = report["mapping"]["queues"].as_array().unwrap().iter();
    let weights: Vec<&Value> = queues.map(|queue| &queue["weight"]).collect();
    assert_eq!(weights, ["1.8", "0.6", "0.6"]);
    let table = end(&mut rig.connector(WEIGHTS, &["--check"])).ok();
    assert!(table.contains("WEIGHT") && table.contains("1.8"), "{table}");

    {
        let mut state = rig.stub.state();
        state.faults.denied = ["patch localqueues", "get localqueues"].map(str::to_owned).into();
        state.change("localqueues", "chem/main", |queue| queue["status"] = json!({}));
    }
    let (report, failed) = check(&format!("{WEIGHTS}\nproject_label = \"example.org/project\""));
    let expected = ["error rights", "warning usage_record", "warning localqueue_weights", "warning queue_owners"];
    assert_eq!(failed, expected, "{report:#}");
    let found = details(&report);
    assert_eq!(found["rights"], "these rights are missing: get localqueues, patch localqueues");
    assert!(found["localqueue_weights"].contains("localqueues is forbidden"), "{found:?}");
    assert!(found["queue_owners"].ends_with("of their namespace: chem/main, ocean/main, physics/main"), "{found:?}");

    rig.stub.state().faults.denied.clear();
    rig.stub.state().faults.drops_weights = true;
    let (_, failed) = check(WEIGHTS);
    assert!(failed.contains(&"error localqueue_weights".to_owned()), "{failed:?}");
    order_by_usage(&rig, false);
    let (report, failed) = check(WEIGHTS);
    assert_eq!(failed, ["error usage_order"], "{report:#}");
}
