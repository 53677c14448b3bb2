//! `--check` of the connector for Kueue.

use serde_json::{Value, json};

use super::condor_stand_ins::check_outcome;
use super::kueue_objects::{cluster_queue, local_queue, workload};
use super::kueue_rig::KueueRig;
use crate::cli::program::end;

/// The report of `--check`, and the names of the checks that failed, with their levels.
fn check(rig: &KueueRig, keys: &str) -> (Value, Vec<String>) {
    check_outcome(rig.connector(keys, &["--check", "-o", "json"]))
}

fn detail(report: &Value, name: &str) -> String {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap();
    check["detail"].as_str().unwrap().to_owned()
}

#[test]
fn a_cluster_that_is_as_it_should_be() {
    let rig = KueueRig::start();
    let (report, failed) = check(&rig, "");
    // Without a Workload there is none to try the gate on.
    assert_eq!(failed, ["warning priority_boost_gate"], "{report:#}");
    rig.stub.state().put("workloads", workload("chem/a", "alice", 60, 0));
    rig.stub.state().requests.clear();
    let (report, failed) = check(&rig, "");
    assert_eq!(failed, [""; 0], "{report:#}");
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    let expected = [
        "kubernetes",
        "api_version",
        "rights",
        "workloads",
        "users",
        "domains",
        "priority_boost_gate",
        "preemption",
        "admission_fair_sharing",
        "priority_classes",
        "nodes",
        "server",
        "key_role",
        "resource_group",
        "clock",
        "lock",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        [&report["cluster"], &report["resource_group"], &report["api_version"]],
        ["kubernetes", "kubernetes", "v1beta2"]
    );
    let queue =
        json!({"queue": "chem/main", "cluster_queue": "gpus", "domain": "science", "ordered": true, "weight": null});
    assert_eq!(report["mapping"]["queues"][0], queue);
    let resources = json!({"cpu": "cpu", "memory": "mem", "nvidia.com/gpu": "cuda.device"});
    assert_eq!(report["mapping"]["resources"], resources);
    assert_eq!(detail(&report, "nodes"), "2 of 3 nodes are in a ResourceFlavor");
    let table = end(&mut rig.connector("", &["--check"])).ok();
    assert!(table.contains("CLUSTER QUEUE") && table.contains("chem/main"), "{table}");
    // The only write is a dry run, and nothing has changed.
    let state = rig.stub.state();
    let patches = state.requests_of("PATCH");
    assert!(!patches.is_empty() && patches.iter().all(|patch| patch.contains("dryRun=All")), "{patches:?}");
    assert!(state.boosts().is_empty());
}

#[test]
fn what_is_missing() {
    let rig = KueueRig::start();
    {
        let mut state = rig.stub.state();
        state.gate = false;
        state.faults.denied = ["patch workloads", "watch clusterqueues"].map(str::to_owned).into();
        let mut preempting = cluster_queue("gpus", "science");
        preempting["spec"]["preemption"]["reclaimWithinCohort"] = "LowerPriority".into();
        state.put("clusterqueues", preempting);
        let mut sharing = cluster_queue("cpus", "other");
        sharing["spec"]["admissionScope"] = json!({"admissionMode": "UsageBasedAdmissionFairSharing"});
        state.put("clusterqueues", sharing);
        let mut second = local_queue("chem", "cpus");
        second["metadata"]["name"] = "second".into();
        state.put("localqueues", second);
        let mut unnamed = workload("chem/a", "", 60, 0);
        unnamed["metadata"]["labels"] = json!({});
        state.put("workloads", unnamed);
        state.put("workloads", workload("chem/b", "a\tb", 60, 100));
    }
    let (report, failed) = check(&rig, "resource_group = \"nowhere\"");
    let expected = [
        "error rights",
        "warning workloads",
        "warning users",
        "warning domains",
        "warning priority_boost_gate",
        "warning preemption",
        "warning admission_fair_sharing",
        "warning priority_classes",
        "error resource_group",
    ];
    assert_eq!(failed, expected, "{report:#}");
    assert_eq!(detail(&report, "rights"), "these rights are missing: patch workloads, watch clusterqueues");
    // Without the right to patch, it is not known whether Kueue reads boosts.
    assert!(detail(&report, "priority_boost_gate").contains("workloads is forbidden"), "{report:#}");
    assert!(detail(&report, "preemption").contains("gpus, so that their Workloads get no boosts"), "{report:#}");
    assert!(detail(&report, "admission_fair_sharing").contains("ClusterQueues cpus"), "{report:#}");
    let ordered: Vec<&Value> =
        report["mapping"]["queues"].as_array().unwrap().iter().map(|queue| &queue["ordered"]).collect();
    assert_eq!(ordered, [false; 4]);

    rig.stub.state().faults.denied.clear();
    let (report, failed) = check(&rig, "allow_preemption = true");
    assert!(failed.contains(&"error priority_boost_gate".to_owned()), "{report:#}");
    assert!(detail(&report, "preemption").contains("so that boosts may end Workloads that run"), "{report:#}");
    rig.stub.state().versions = vec!["v1beta1"];
    let (report, failed) = check(&rig, "");
    assert!(failed.contains(&"warning api_version".to_owned()), "{report:#}");
    rig.stub.state().faults.denied = ["list workloads", "list nodes"].map(str::to_owned).into();
    let (report, failed) = check(&rig, "");
    assert!(failed.contains(&"error workloads".to_owned()) && failed.contains(&"error nodes".to_owned()), "{report:#}");
}

/// A key that the server does not take, and one of another group, fail the check of the key alone, because nothing else is wrong.
#[test]
fn a_key_that_is_of_no_use_is_the_only_fault() {
    let rig = KueueRig::start();
    rig.stub.state().put("workloads", workload("chem/a", "alice", 60, 0));
    rig.ask(&["groups", "create", "other"]).ok();
    let other = rig.ask(&["keys", "create", "--role", "connector", "--label", "other", "--group", "other"]).ok();
    for (key, reason) in [
        ("fsk_unknown", "does not take the key: the key is not known"),
        (other.trim_end(), "the key does not reach the resource group kubernetes"),
    ] {
        let mut command = rig.connector("", &["--check", "-o", "json"]);
        command.env("FAIRSHARED_KEY", key);
        let (report, failed) = check_outcome(command);
        assert_eq!(failed, ["error key_role"], "{report:#}");
        assert!(detail(&report, "key_role").ends_with(reason), "{report:#}");
    }
}

/// Each answer of the server says its time, so that a key that may not ask for the server's own checks is enough.
#[test]
fn clocks_are_compared_with_a_key_of_the_role_connector() {
    let rig = KueueRig::start();
    let key = rig.ask(&["keys", "create", "--role", "connector", "--label", "limited", "--group", "kubernetes"]).ok();
    let mut command = rig.connector("", &["--check", "-o", "json"]);
    command.env("FAIRSHARED_KEY", key.trim_end());
    let (report, _) = check_outcome(command);
    let clock = detail(&report, "clock");
    assert!(clock.starts_with("the clocks of this machine and of the server differ by "), "{clock}");
}
