//! Changes between the rounds of the connector for Kueue: runs that begin and end, lists that are too old, answers that break off.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::cli::connect::run_lines::write_run;
use fairshared::connectors::kueue::KueueConnector;
use fairshared::connectors::scheduler::{QueueReading, SchedulerConnector};
use fairshared::service::Clock;
use serde_json::json;

use super::kueue_objects::{ago, workload};
use super::kueue_rig::KueueRig;
use crate::cli::program::end;
use crate::support::ManualClock;

const ORDER: &str = "mode = \"order\"";

/// The resource versions that Workloads were watched from.
fn watched_versions(rig: &KueueRig) -> Vec<String> {
    let state = rig.stub.state();
    let watches = state
        .requests_of("GET")
        .into_iter()
        .filter(|request| request.contains("/workloads?") && request.contains("watch=true"));
    let version =
        |request: &str| request.split("resourceVersion=").nth(1).unwrap().split(['&', ' ']).next().unwrap().to_owned();
    watches.map(version).collect()
}

/// The number of lists of Workloads.
fn lists(rig: &KueueRig) -> usize {
    let state = rig.stub.state();
    let lists = state.requests_of("GET").into_iter().filter(|request| request.contains("/workloads?"));
    lists.filter(|request| !request.contains("watch=true") && !request.contains("continue=")).count()
}

#[test]
fn every_admission_is_a_run() {
    let rig = KueueRig::start();
    let mut rounds = rig.running("");
    rig.stub.state().put("workloads", workload("chem/a", "alice", 900, 0));
    rounds.round();
    let [first, evicted, second, finished, deleted] = [800, 700, 600, 500, 400].map(ago);
    {
        let mut state = rig.stub.state();
        state.admit("chem/a", &first);
        state.evict("chem/a", &evicted, 100);
        state.admit("chem/a", &second);
        state.finish("chem/a", &finished);
        state.delete("workloads", "chem/a");
        // One that is deleted while it runs ends then.
        state.put("workloads", workload("chem/b", "bob", 900, 0));
        state.admit("chem/b", &first);
        state.change("workloads", "chem/b", |workload| workload["metadata"]["deletionTimestamp"] = json!(deleted));
        state.delete("workloads", "chem/b");
        state.put("workloads", workload("chem/c", "carol", 900, 0));
        state.admit("chem/c", &first);
    }
    let outcome = rounds.round();
    assert_eq!(outcome.reported, 4, "{outcome:?}");
    let expected = [
        run("alice", &first, Some(&evicted)),
        run("alice", &second, Some(&finished)),
        run("bob", &first, Some(&deleted)),
        run("carol", &first, None),
    ];
    assert_eq!(rig.kernels(), expected);
    assert_eq!(lists(&rig), 1);
    // Runs that the server has are not reported again, but for those that go on.
    rig.stub.state().finish("chem/c", &ago(1));
    assert_eq!(rounds.round().reported, 1);
    assert_eq!(rounds.round().reported, 0);
    assert!(rig.kernels()[3].2.is_some());
}

/// A kernel as the server lists it.
fn run(user: &str, start: &str, end: Option<&str>) -> (String, String, Option<String>) {
    (user.to_owned(), start.to_owned(), end.map(str::to_owned))
}

#[test]
fn watches_go_on_from_the_bookmark() {
    let rig = KueueRig::start();
    rig.stub.state().put("workloads", workload("chem/a", "alice", 900, 0));
    let mut rounds = rig.running("");
    rounds.round();
    let first = rig.version();
    rounds.round();
    // Changes of other objects move the version as well.
    rig.stub.state().change("clusterqueues", "gpus", |queue| queue["metadata"]["labels"] = json!({"a": "b"}));
    rounds.round();
    rounds.round();
    let last = rig.version();
    assert_eq!(watched_versions(&rig), [first, first, last].map(|version| version.to_string()));
    assert_eq!(lists(&rig), 1);
}

/// A server that takes its time with reports lies between the reading of the runs and that of the queue.
#[test]
fn one_reading_serves_runs_and_the_queue_unless_it_is_old() {
    let rig = KueueRig::start();
    let clock = Arc::new(ManualClock::at(&ago(0)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let steady = Arc::clone(&clock) as Arc<dyn Clock>;
        let mut connector = KueueConnector::start(rig.settings(""), write_run, steady).await.unwrap();
        for (name, seconds, pending) in [("chem/a", 30, 0), ("chem/b", 31, 2)] {
            connector.read_kernels(None).await.unwrap();
            rig.stub.state().put("workloads", workload(name, "alice", 60, 0));
            clock.advance_seconds(seconds);
            let queue = connector.read_queue(&BTreeMap::new()).await.unwrap();
            assert_eq!(queue.counts().pending, pending, "{seconds}");
        }
    });
}

#[test]
fn a_version_that_is_too_old_means_a_list() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rounds.round();
    let [first, end_of_first, second] = [900, 800, 700].map(ago);
    {
        let mut state = rig.stub.state();
        // Between two readings one Workload goes, and one is evicted and admitted again.
        state.put("workloads", workload("chem/gone", "dave", 1_000, 0));
        state.admit("chem/gone", &first);
        state.put("workloads", workload("chem/twice", "erin", 1_000, 0));
        state.admit("chem/twice", &first);
    }
    rounds.round();
    {
        let mut state = rig.stub.state();
        state.delete("workloads", "chem/gone");
        state.evict("chem/twice", &end_of_first, 100);
        state.admit("chem/twice", &second);
        state.put("workloads", workload("chem/new", "alice", 5, 0));
        state.forget_history();
        state.faults.expired_pages = 1;
    }
    let before = lists(&rig);
    let outcome = rounds.round();
    assert_eq!((outcome.written, rig.order()), (1, rig.sequence()), "{outcome:?}");
    assert_eq!(lists(&rig), before + 2, "the first of the lists has a page that is too old");
    let kernels = rig.kernels();
    let of = |user: &str| kernels.iter().filter(|kernel| kernel.0 == user).cloned().collect::<Vec<_>>();
    assert_eq!(of("erin"), [run("erin", &first, Some(&end_of_first)), run("erin", &second, None)]);
    // It is not known when the one that has gone has ended, so that it counts until it was last seen.
    let [(_, start, Some(end))] = &of("dave")[..] else { panic!("{kernels:?}") };
    assert!(*start == first && *end > second, "{end}");
    // Watches go on from the new list.
    rounds.round();
    assert_eq!(lists(&rig), before + 2);
}

#[test]
fn a_watch_that_is_cut_goes_on() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rounds.round();
    {
        let mut state = rig.stub.state();
        for number in 0..4 {
            state.put("workloads", workload(&format!("chem/more{number}"), "alice", 4 - number, 0));
        }
        // Each time one change comes through, and half of the next one.
        state.faults.cut_watches = 2;
    }
    let outcome = rounds.round();
    assert_eq!((outcome.counts.eligible, outcome.written), (10, 4), "{outcome:?}");
    assert_eq!((rig.order(), lists(&rig)), (rig.sequence(), 1));
    // If it is cut again and again, or no bookmark comes, all is listed.
    rig.stub.state().faults.cut_watches = 3;
    rounds.round();
    assert_eq!(lists(&rig), 2);
    rig.stub.state().faults.silent_watches = 3;
    rounds.round();
    assert_eq!((lists(&rig), rig.order()), (3, rig.sequence()));
    // A connection that is closed says nothing about the version that was reached.
    rig.stub.state().faults.closed_watches = 1;
    rounds.round();
    assert_eq!(lists(&rig), 3);
    rig.stub.state().faults.closed_watches = 3;
    rounds.round();
    assert_eq!(lists(&rig), 4);
}

#[test]
fn without_an_answer_nothing_is_written() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rounds.round();
    let boosts = rig.boosts();
    rig.stub.state().put("workloads", workload("chem/new", "alice", 5, 0));
    rig.stub.state().faults.hangs = true;
    let outcome = rounds.run();
    let codes: Vec<&str> = outcome.errors.iter().map(|error| &*error.code).collect();
    assert!(!codes.is_empty() && codes.iter().all(|code| *code == "kubernetes_away"), "{outcome:?}");
    assert_eq!(rig.boosts(), boosts);
    rig.stub.state().faults.hangs = false;
    assert_eq!(rounds.round().written, 1);
    assert_eq!(rig.order(), rig.sequence());
}

#[test]
fn an_object_of_an_unknown_form_writes_nothing() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rounds.round();
    let boosts = rig.boosts();
    rig.stub.state().put("workloads", workload("chem/new", "alice", 5, 0));
    rig.stub
        .state()
        .put_unchecked("workloads", json!({"metadata": {"name": "odd", "namespace": "chem"}, "spec": {"podSets": 3}}));
    for _ in 0..2 {
        let outcome = rounds.run();
        assert!(outcome.errors.iter().all(|error| error.code == "unknown_format"), "{outcome:?}");
        assert_eq!((outcome.written, rig.boosts()), (0, boosts.clone()), "{outcome:?}");
    }
    rig.stub.state().delete("workloads", "chem/odd");
    assert_eq!(rounds.round().written, 1);
}

#[test]
fn a_right_to_read_that_is_missing_is_a_fault() {
    let rig = KueueRig::ranked();
    for right in ["list workloads", "list clusterqueues"] {
        rig.stub.state().faults.denied = [right.to_owned()].into();
        let (outcome, codes) = rig.failed_round(ORDER);
        assert!(codes.iter().all(|code| code == "kubernetes_right"), "{outcome}");
        assert_eq!(outcome["written"], 0);
    }
    // Nodes are not needed for the order.
    rig.stub.state().faults.denied = ["list nodes".to_owned()].into();
    let (outcome, codes) = rig.failed_round(ORDER);
    assert_eq!((codes, &outcome["written"]), (vec!["kubernetes_right".to_owned()], &json!(6)), "{outcome}");
}

#[test]
fn the_log_of_runs_outlives_the_connector() {
    let rig = KueueRig::start();
    let start = ago(300);
    rig.stub.state().put("workloads", workload("chem/a", "alice", 900, 0));
    rig.stub.state().admit("chem/a", &start);
    rig.round("");
    assert_eq!(rig.kernels(), [run("alice", &start, None)]);
    // It goes while no connector runs.
    rig.stub.state().delete("workloads", "chem/a");
    rig.round("");
    let [(_, _, Some(end))] = &rig.kernels()[..] else { panic!("{:?}", rig.kernels()) };
    assert!(*end > start, "{end}");
    assert!(!std::fs::read_to_string(rig.state_dir().join("runs.json")).unwrap().is_empty());
}

#[test]
fn runs_are_noted_before_they_are_reported() {
    let rig = KueueRig::start();
    let [start, end] = [300, 200].map(ago);
    let keys = "accounting = \"1h\"";
    let mut rounds = rig.running(keys);
    rounds.round();
    rig.stub.state().put("workloads", workload("chem/a", "alice", 900, 0));
    rig.stub.state().admit("chem/a", &start);
    rig.stub.state().finish("chem/a", &end);
    rounds.round();
    rig.stub.state().delete("workloads", "chem/a");
    assert_eq!(rig.kernels(), []);
    // The connector ends before the next report, and the next one finds the Workload no more.
    drop(rounds);
    rig.running(keys).round();
    assert_eq!(rig.kernels(), [run("alice", &start, Some(&end))]);
}

#[test]
fn the_variant_that_was_admitted_has_the_run() {
    let rig = KueueRig::start();
    let start = ago(300);
    let mut parent = workload("chem/parent", "alice", 900, 0);
    parent["metadata"]["labels"]["kueue.x-k8s.io/concurrent-admission-parent"] = "true".into();
    {
        let mut state = rig.stub.state();
        state.put("workloads", parent);
        state.put("workloads", workload("chem/variant", "alice", 900, 0));
        state.admit("chem/variant", &start);
        state.admit("chem/parent", &start);
    }
    rig.round("");
    assert_eq!(rig.kernels(), [run("alice", &start, None)]);
}

#[test]
fn runs_wait_for_the_queues_that_name_their_domain() {
    let rig = KueueRig::start();
    let start = ago(300);
    rig.stub.state().put("workloads", workload("chem/a", "alice", 900, 0));
    rig.stub.state().admit("chem/a", &start);
    rig.stub.state().faults.denied.insert("list clusterqueues".to_owned());
    let mut rounds = rig.running("");
    let outcome = rounds.run();
    assert!(outcome.errors.iter().any(|error| error.code == "kubernetes_right"), "{outcome:?}");
    assert_eq!(rig.kernels(), []);
    rig.stub.state().faults.denied.clear();
    rounds.round();
    let listed = rig.ask(&["kernels", "list", "kubernetes", "-o", "json"]).json();
    assert_eq!(listed["items"][0]["domain_name"], "science", "{listed}");
}

#[test]
fn a_node_that_has_gone_is_not_alive() {
    let rig = KueueRig::start();
    rig.round("");
    {
        let mut state = rig.stub.state();
        state.delete("nodes", "n2");
        state.change("nodes", "n1", |node| {
            node["spec"]["taints"] = json!([{"key": "example.org/closed", "effect": "NoSchedule"}]);
        });
    }
    rig.round("");
    let listed = rig.ask(&["agents", "list", "kubernetes", "-o", "json"]).json();
    let agents = listed["items"].as_array().unwrap().iter();
    let facts: Vec<[bool; 2]> = agents.map(|agent| ["alive", "schedulable"].map(|key| agent[key] == true)).collect();
    assert_eq!(facts, [[true, false], [false, false]], "{listed}");
    // The flavor says that its Workloads tolerate the taint.
    rig.stub.state().change("resourceflavors", "default", |flavor| {
        flavor["spec"]["nodeTaints"] = json!([{"key": "example.org/closed", "effect": "NoSchedule"}]);
    });
    rig.round("");
    let listed = rig.ask(&["agents", "list", "kubernetes", "-o", "json"]).json();
    assert_eq!(listed["items"][0]["schedulable"], true, "{listed}");
}

#[test]
fn the_older_version_of_the_api_is_read() {
    let rig = KueueRig::start();
    {
        let mut state = rig.stub.state();
        state.versions = vec!["v1beta1"];
        let mut queue = super::kueue_objects::cluster_queue("gpus", "science");
        queue["apiVersion"] = "kueue.x-k8s.io/v1beta1".into();
        let cohort = queue["spec"].as_object_mut().unwrap().remove("cohortName").unwrap();
        queue["spec"]["cohort"] = cohort;
        state.put("clusterqueues", queue);
        let mut old = workload("chem/a", "alice", 900, 0);
        old["apiVersion"] = "kueue.x-k8s.io/v1beta1".into();
        state.put("workloads", old);
        state.admit("chem/a", &ago(300));
    }
    rig.round("");
    let listed = rig.ask(&["kernels", "list", "kubernetes", "-o", "json"]).json();
    assert_eq!(listed["items"][0]["domain_name"], "science", "{listed}");
    rig.stub.state().versions = Vec::new();
    let (outcome, codes) = rig.failed_round("");
    assert_eq!(codes, ["kueue"], "{outcome}");
    let ended = end(&mut rig.connector("", &["--reset"]));
    assert!(ended.stdout.contains("so that Kueue is not installed"), "{ended:?}");
}
