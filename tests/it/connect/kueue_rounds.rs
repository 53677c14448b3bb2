//! Rounds of the connector for Kueue beside a stand-in for its cluster, with a real server and a real database.

use std::collections::BTreeMap;

use fairshared::connectors::instance_lock::InstanceLock;
use fairshared::connectors::state_file::ConnectorState;
use fairshared::domain::time::MICROS_PER_HOUR;
use serde_json::{Value, json};

use super::kueue_objects::{ago, cluster_queue, local_queue, workload};
use super::kueue_rig::{KueueRig, USERS};
use crate::cli::program::end;

const ORDER: &str = "mode = \"order\"";
const FACTOR: &str = "mode = \"factor\"";
const BOOST: &str = "kueue.x-k8s.io/priority-boost";
/// A server that does not answer.
const NOWHERE: &str = "http://127.0.0.1:9";

fn counts<const N: usize>(outcome: &Value, keys: [&str; N]) -> [u64; N] {
    keys.map(|key| outcome[key].as_u64().unwrap_or_else(|| panic!("{key} of {outcome}")))
}

#[test]
fn shadow_compares_and_writes_nothing() {
    let rig = KueueRig::ranked();
    let held = {
        let mut state = rig.stub.state();
        let mut held = workload("physics/held", "dave", 60, 0);
        held["spec"]["active"] = false.into();
        state.put("workloads", held);
        let mut gated = workload("physics/gated", "dave", 60, 0);
        gated["metadata"]["annotations"] = json!({"kueue.x-k8s.io/admission-gated-by": "example.org/data"});
        state.put("workloads", gated);
        let mut lost = workload("physics/lost", "dave", 60, 0);
        lost["spec"]["queueName"] = "nowhere".into();
        state.put("workloads", lost);
        let mut fixed = workload("physics/fixed", "dave", 60, 0);
        fixed["metadata"]["annotations"] = json!({BOOST: "-5"});
        state.put("workloads", fixed);
        state.put("workloads", workload("physics/runs", "dave", 60, 0));
        state.admit("physics/runs", &ago(50));
        state.boosts()
    };
    let outcome = rig.round("");
    assert_eq!(outcome["mode"], "shadow");
    let keys = ["jobs", "pending", "eligible", "held", "dependent", "limited", "fixed", "compared", "wanted_writes"];
    assert_eq!(counts(&outcome, keys), [11, 10, 6, 1, 1, 1, 1, 6, 0], "{outcome}");
    assert!(outcome["same_place"].as_u64().unwrap() < 6, "{outcome}");
    assert!(rig.stub.state().requests_of("PATCH").is_empty());
    assert_eq!(rig.boosts(), held);

    let kernels = rig.kernels();
    assert_eq!(kernels.iter().map(|(user, ..)| &**user).collect::<Vec<_>>(), ["alice", "bob", "carol", "dave"]);
    assert_eq!((&*kernels[3].1, &kernels[3].2), (&*admitted_at(&rig, "physics/runs"), &None));
    let listed = rig.ask(&["kernels", "list", "kubernetes", "--status", "RUNNING", "-o", "json"]).json();
    let running = &listed["items"][0];
    assert_eq!(running["occupied_slots"], json!({"cpu": "1.5", "cuda.device": "1", "mem": "1073741824"}));
    assert_eq!([&running["project_name"], &running["domain_name"]], ["physics", "science"]);
    let agents = rig.ask(&["agents", "list", "kubernetes", "-o", "json"]).json();
    let names: Vec<&Value> = agents["items"].as_array().unwrap().iter().map(|agent| &agent["agent_id"]).collect();
    assert_eq!(names, ["n1", "n2"]);
    assert_eq!(agents["items"][0]["available_slots"], json!({"cpu": "8", "cuda.device": "4", "mem": "34359738368"}));
    let status = rig.ask(&["connectors", "list", "-o", "json"]).json();
    assert_eq!([&status["items"][0]["kind"], &status["items"][0]["cluster"]], ["kueue", "kubernetes"]);
    let report = rig.ask(&["connectors", "report", "kubernetes", "-o", "json"]).json();
    assert_eq!(report["latest"]["ours"].as_array().unwrap().len(), 6, "{report}");

    let shadow = end(&mut rig.connector(ORDER, &["--once", "--shadow", "-o", "json"])).json();
    assert_eq!((&shadow["mode"], &shadow["wanted_writes"]), (&json!("shadow"), &json!(0)));
    assert!(rig.stub.state().requests_of("PATCH").is_empty());
}

fn admitted_at(rig: &KueueRig, key: &str) -> String {
    let state = rig.stub.state();
    let conditions = state.object("workloads", key)["status"]["conditions"].as_array().unwrap();
    let admitted = conditions.iter().find(|condition| condition["type"] == "Admitted").unwrap();
    admitted["lastTransitionTime"].as_str().unwrap().to_owned()
}

#[test]
fn kueue_gets_the_order_of_the_server() {
    let rig = KueueRig::ranked();
    let wanted = rig.sequence();
    assert_ne!(rig.order(), wanted);
    let before: Vec<Value> = {
        let state = rig.stub.state();
        state.keys("workloads").iter().map(|key| state.object("workloads", key)["spec"].clone()).collect()
    };
    let mut rounds = rig.running(ORDER);
    let outcome = rounds.round();
    assert_eq!((outcome.wanted_writes, outcome.written, outcome.read_back_differs), (6, 6, 0), "{outcome:?}");
    assert_eq!(rig.order(), wanted);
    // Neither the priority nor any other part of the specification is written.
    let after: Vec<Value> = {
        let state = rig.stub.state();
        state.keys("workloads").iter().map(|key| state.object("workloads", key)["spec"].clone()).collect()
    };
    assert_eq!(after, before);
    for request in rig.stub.state().requests_of("PATCH") {
        let (_, body) = request.split_once(" {").unwrap();
        let body: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
        let keys: Vec<&String> = body["metadata"].as_object().unwrap().keys().collect();
        assert!(keys.iter().all(|key| ["annotations", "resourceVersion"].contains(&key.as_str())), "{request}");
        assert!(request.contains("fieldManager=fairshared"), "{request}");
    }
    // A Workload at its place is not written again, and one that starts keeps its boost.
    assert_eq!(rounds.round().wanted_writes, 0);
    let first = wanted[0].clone();
    rig.stub.state().admit(&first, &ago(0));
    let outcome = rounds.round();
    assert_eq!((outcome.counts.eligible, outcome.wanted_writes), (5, 0), "{outcome:?}");
    // A new Workload of the user with the least usage gets a boost between the others.
    rig.stub.state().put("workloads", workload("physics/new", "alice", 0, 0));
    let outcome = rounds.round();
    assert_eq!((outcome.written, rig.order()), (1, rig.sequence()));
}

#[test]
fn classes_stay_in_their_order() {
    let rig = KueueRig::ranked();
    rig.stub.state().put("workloads", workload("physics/urgent", "carol", 5, 3));
    let outcome = rig.round(ORDER);
    // Between the priorities 0 and 3 there is room for one value.
    assert_eq!(rig.boosts().into_values().filter(|boost| boost == "1").count(), 1, "{outcome}");
    let order = rig.order();
    assert_eq!(order[0], "physics/urgent");
    assert_eq!(order[1], rig.sequence().into_iter().find(|key| key != "physics/urgent").unwrap());
}

#[test]
fn boosts_follow_the_ranks() {
    let rig = KueueRig::ranked();
    let keys = format!("{FACTOR}\nboost_max = 3000");
    rig.round(&keys);
    let ranks: BTreeMap<String, i64> = rig.ranks().into_iter().collect();
    assert_eq!(USERS.map(|user| ranks[user]), [1, 2, 3]);
    let boosts = rig.boosts();
    // The ranks 1 to 3 have all of it, two thirds and a third, in 200 steps.
    assert_eq!(
        ["physics/w5", "physics/w4", "physics/w3", "physics/w2", "physics/w1", "physics/w0"].map(|key| &*boosts[key]),
        ["3000", "3000", "1995", "1995", "1005", "1005"]
    );
    assert_eq!(counts(&rig.round(&keys), ["wanted_writes"]), [0]);
}

#[test]
fn all_boosts_are_taken_back() {
    let rig = KueueRig::ranked();
    {
        let mut state = rig.stub.state();
        let mut foreign = workload("physics/foreign", "dave", 60, 0);
        foreign["metadata"]["annotations"] = json!({BOOST: "7", "example.org/note": "stays"});
        state.put("workloads", foreign);
    }
    rig.round(ORDER);
    let (first, second) = (rig.sequence()[0].clone(), rig.sequence()[1].clone());
    {
        let mut state = rig.stub.state();
        state.admit(&first, &ago(0));
        state.admit(&second, &ago(1));
        state.finish(&second, &ago(0));
    }
    // A reset needs neither the server nor the state of the connector, and knows no bound.
    std::fs::remove_dir_all(rig.state_dir()).unwrap();
    let reset = end(&mut rig.connector_to(NOWHERE, "max_writes = 1", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["written", "left", "read_back_differs"]), [6, 0, 0], "{reset}");
    assert_eq!(rig.boosts(), [("physics/foreign".to_owned(), "7".to_owned())].into());
    assert_eq!(ConnectorState::load(&rig.state_dir()).unwrap().written, BTreeMap::new());
    let reset = end(&mut rig.connector("", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["wanted_writes", "written"]), [0, 0]);
}

#[test]
fn writes_are_bounded_and_the_front_comes_first() {
    let rig = KueueRig::ranked();
    let keys = format!("{ORDER}\nmax_writes = 2");
    let outcome = rig.round(&keys);
    assert_eq!(counts(&outcome, ["wanted_writes", "written", "left"]), [6, 2, 4], "{outcome}");
    let (order, wanted) = (rig.order(), rig.sequence());
    assert_eq!(order[..2], wanted[..2]);
    rig.round(&keys);
    rig.round(&keys);
    assert_eq!(rig.order(), rig.sequence());
}

#[test]
fn a_boost_of_another_writer_is_left_alone() {
    let rig = KueueRig::ranked();
    rig.round(ORDER);
    let key = rig.sequence()[2].clone();
    rig.stub.state().change("workloads", &key, |workload| {
        workload["metadata"]["annotations"][BOOST] = "-100".into();
        workload["metadata"]["managedFields"] = json!([{
            "manager": "kubectl-annotate", "operation": "Update",
            "fieldsV1": {"f:metadata": {"f:annotations": {format!("f:{BOOST}"): {}}}}
        }]);
    });
    let outcome = rig.round(ORDER);
    assert_eq!(counts(&outcome, ["fixed", "eligible"]), [1, 5], "{outcome}");
    assert_eq!(rig.boosts()[&key], "-100");
    end(&mut rig.connector("", &["--reset"])).ok();
    assert_eq!(rig.boosts(), [(key, "-100".to_owned())].into());
}

#[test]
fn a_workload_that_changes_meanwhile_is_read_again() {
    let rig = KueueRig::ranked();
    rig.stub.state().faults.conflicts.push(|workload| workload["metadata"]["labels"]["example.org/other"] = "x".into());
    let outcome = rig.round(ORDER);
    assert_eq!(counts(&outcome, ["written", "read_back_differs"]), [6, 0], "{outcome}");
    assert_eq!(rig.order(), rig.sequence());
    end(&mut rig.connector("", &["--reset"])).ok();

    // One that starts in between is left alone, and so is one that has got another boost.
    rig.stub.state().faults.conflicts.push(|workload| {
        workload["status"] = json!({"conditions": [{
            "type": "QuotaReserved", "status": "True", "reason": "r", "message": "", "lastTransitionTime": ago(0)
        }]});
    });
    rig.stub.state().faults.conflicts.push(|workload| workload["metadata"]["annotations"] = json!({BOOST: "9"}));
    let outcome = rig.round(ORDER);
    assert_eq!(counts(&outcome, ["wanted_writes", "written", "read_back_differs"]), [6, 4, 0], "{outcome}");
    assert_eq!(rig.boosts().into_values().filter(|boost| boost == "9").count(), 1);
    // One that changes again and again is a fault.
    end(&mut rig.connector("", &["--reset"])).ok();
    for _ in 0..3 {
        rig.stub
            .state()
            .faults
            .conflicts
            .push(|workload| workload["metadata"]["labels"]["example.org/other"] = ago(0).into());
    }
    let (outcome, codes) = rig.failed_round(ORDER);
    assert_eq!((codes, counts(&outcome, ["written"])), (vec!["write_failed".to_owned()], [4]), "{outcome}");
}

#[test]
fn a_right_that_is_missing_ends_the_writing() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rounds.round();
    let before = rig.boosts();
    {
        let mut state = rig.stub.state();
        state.faults.denied.insert("patch workloads".to_owned());
        for number in 0..3 {
            state.put("workloads", workload(&format!("ocean/more{number}"), "alice", 1, 0));
        }
        state.requests.clear();
    }
    let outcome = rounds.run();
    let codes: Vec<&str> = outcome.errors.iter().map(|error| &*error.code).collect();
    assert_eq!((codes, outcome.wanted_writes, outcome.written), (vec!["kubernetes_right"], 3, 0), "{outcome:?}");
    assert!(outcome.errors[0].detail.contains("workloads is forbidden"), "{outcome:?}");
    // One attempt is enough to know, and what was written stays.
    assert_eq!((rig.patches(), rig.boosts()), (1, before));
    rig.stub.state().faults.denied.clear();
    assert_eq!(rounds.round().written, 3);
    assert_eq!(rig.order(), rig.sequence());
}

#[test]
fn boosts_that_kueue_has_dropped_are_written_again() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rounds.round();
    let order = rig.order();
    let keys = rig.stub.state().keys("workloads");
    for key in keys {
        rig.stub.state().change("workloads", &key, |workload| {
            let metadata = workload["metadata"].as_object_mut().unwrap();
            metadata.remove("annotations");
            metadata.remove("managedFields");
        });
    }
    assert_ne!(rig.order(), order);
    assert_eq!(rounds.round().written, 6);
    assert_eq!(rig.order(), order);
    // A value that is taken and not kept is a fault of the round.
    rig.stub.state().faults.drops_boosts = true;
    rig.stub.state().put("workloads", workload("chem/new", "alice", 1, 0));
    let outcome = rounds.run();
    assert_eq!((outcome.written, outcome.read_back_differs, &*outcome.errors[0].code), (1, 1, "read_back_differs"));
}

#[test]
fn a_kueue_that_reads_no_boosts_is_not_written() {
    let rig = KueueRig::ranked();
    rig.stub.state().gate = false;
    let (outcome, codes) = rig.failed_round(ORDER);
    assert_eq!((codes, &outcome["wanted_writes"]), (vec!["priority_boost_gate".to_owned()], &json!(0)), "{outcome}");
    assert_eq!(rig.boosts(), BTreeMap::new());
    rig.stub.state().gate = true;
    rig.stub.state().faults.webhook_away = true;
    let (outcome, codes) = rig.failed_round(ORDER);
    assert_eq!((codes, rig.boosts()), (vec!["kubernetes_away".to_owned()], BTreeMap::new()), "{outcome}");
    rig.stub.state().faults.webhook_away = false;
    rig.round(ORDER);
    assert_eq!(rig.boosts().len(), 6);
}

#[test]
fn a_gate_that_could_not_be_tried_is_tried_again_in_the_next_round() {
    let rig = KueueRig::ranked();
    let mut rounds = rig.running(ORDER);
    rig.stub.state().faults.webhook_away = true;
    assert!(!rounds.run().is_ok());
    rig.stub.state().faults.webhook_away = false;
    assert_eq!(rounds.round().written, 6);
}

#[test]
fn a_boost_of_more_than_32_bits_is_none() {
    let rig = KueueRig::ranked();
    let mut odd = workload("physics/odd", "dave", 60, 1);
    odd["metadata"]["annotations"] = json!({BOOST: i64::MAX.to_string()});
    rig.stub.state().put("workloads", odd);
    let outcome = rig.round("");
    assert_eq!(counts(&outcome, ["eligible", "fixed"]), [6, 1], "{outcome}");
}

#[test]
fn queues_in_which_a_boost_would_end_running_workloads_are_left_alone() {
    let rig = KueueRig::ranked();
    let set = |policy: &str, mode: Option<&str>| {
        let mut queue = cluster_queue("gpus", "science");
        queue["spec"]["preemption"]["withinClusterQueue"] = policy.into();
        if let Some(mode) = mode {
            queue["spec"]["admissionScope"] = json!({"admissionMode": mode});
        }
        rig.stub.state().put("clusterqueues", queue);
    };
    set("LowerPriority", None);
    let outcome = rig.round(ORDER);
    assert_eq!(counts(&outcome, ["compared", "wanted_writes"]), [6, 0], "{outcome}");
    let allowed = format!("{ORDER}\nallow_preemption = true");
    assert_eq!(counts(&rig.round(&allowed), ["written"]), [6]);
    // Without the permission, what was written is taken away again.
    assert_eq!(counts(&rig.round(ORDER), ["written"]), [6]);
    assert_eq!(rig.boosts(), BTreeMap::new());
    set("Never", Some("UsageBasedAdmissionFairSharing"));
    assert_eq!(counts(&rig.round(&allowed), ["wanted_writes"]), [0]);
    set("Never", Some("NoAdmissionFairSharing"));
    assert_eq!(counts(&rig.round(ORDER), ["written"]), [6]);
}

#[test]
fn reports_wait_while_the_server_is_away_and_boosts_fade() {
    let rig = KueueRig::ranked();
    rig.round(ORDER);
    let first = rig.sequence()[0].clone();
    rig.stub.state().admit(&first, &ago(0));
    let ordered = rig.boosts();
    let keys = format!("{ORDER}\nstale_after = \"30m\"");
    let away = || super::condor_stand_ins::failed_outcome(rig.connector_to(NOWHERE, &keys, &["--once", "-o", "json"]));
    let (outcome, codes) = away();
    assert_eq!(
        (codes, counts(&outcome, ["spooled", "reported"])),
        (vec!["server_away".to_owned()], [1, 0]),
        "{outcome}"
    );
    assert_eq!(rig.boosts(), ordered);
    let mut state = ConnectorState::load(&rig.state_dir()).unwrap();
    state.server_answered_at = state.server_answered_at.map(|time| time.plus_micros(-MICROS_PER_HOUR));
    state.save(&rig.state_dir()).unwrap();
    let (outcome, _) = away();
    // One that runs keeps its boost.
    assert_eq!((counts(&outcome, ["written"]), rig.boosts().into_keys().collect::<Vec<_>>()), ([5], vec![first]));
    assert_eq!(counts(&rig.round(ORDER), ["spooled", "written"]), [0, 5]);
    assert!(!rig.state_dir().join("reports.ndjson").exists());
}

#[test]
fn a_second_connector_is_kept_away() {
    let rig = KueueRig::start();
    let lock = InstanceLock::take(&rig.state_dir()).unwrap().unwrap();
    for args in [["--once"], ["--reset"]] {
        let refused = end(&mut rig.connector("", &args)).refused(3);
        assert!(refused.starts_with("another connector holds the lock in "), "{refused}");
    }
    drop(lock);
    end(&mut rig.connector("", &["--once"])).ok();
}

#[test]
fn owners_follow_labels() {
    let rig = KueueRig::start();
    {
        let mut state = rig.stub.state();
        let mut queue = local_queue("ocean", "gpus");
        queue["metadata"]["labels"] = json!({"example.org/domain": "earth"});
        state.put("localqueues", queue);
        state.change("clusterqueues", "gpus", |queue| {
            queue["spec"].as_object_mut().unwrap().remove("cohortName");
        });
        let mut labelled = workload("ocean/a", "alice", 60, 0);
        labelled["metadata"]["labels"]["example.org/project"] = "currents".into();
        state.put("workloads", labelled);
        let mut plain = workload("chem/b", "", 60, 0);
        plain["metadata"]["labels"] = json!({});
        plain["spec"]["podSets"][0]["template"]["metadata"] = json!({"annotations": {"example.org/project": "a\tb"}});
        state.put("workloads", plain);
        state.admit("ocean/a", &ago(50));
        state.admit("chem/b", &ago(50));
    }
    rig.round("project_label = \"example.org/project\"\ndomain_label = \"example.org/domain\"");
    let listed = rig.ask(&["kernels", "list", "kubernetes", "-o", "json"]).json();
    let owner = |kernel: &Value| {
        ["user_name", "project_name", "domain_name"].map(|key| kernel[key].as_str().unwrap().to_owned())
    };
    let mut owners: Vec<[String; 3]> = listed["items"].as_array().unwrap().iter().map(owner).collect();
    owners.sort();
    // A name that the server does not take counts as unknown; without a cohort the ClusterQueue is the domain.
    assert_eq!(
        owners,
        [["alice", "currents", "earth"], ["chem", "unknown", "gpus"]].map(|names| names.map(str::to_owned))
    );
}
