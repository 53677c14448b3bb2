//! Kernels report their submission and the rules of their place, and agents have taints.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::cli::program::run;
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

fn pending(name: &str) -> Value {
    let waits = with(kernel(name, "alice", "vision", "2026-01-13T10:00:00Z"), &json!({"status": "PENDING"}));
    with(waits, &json!({"started_at": null}))
}

fn rules() -> Value {
    json!({
        "submitted_at": "2026-01-13T09:00:00Z", "labels": {"app": "trainer"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}, {"key": "old", "operator": "Equal", "value": "yes", "effect": "NoExecute"}],
        "affinity": {
            "agents": [{"key": "gpu", "operator": "In", "values": ["a100"]}, {"key": "memory", "operator": "Gt", "values": ["40"]}],
            "with": [{"labels": {"app": "cache"}, "topology_key": "rack"}],
        },
    })
}

on_both! {
    async fn what_kernels_say_of_their_place_is_kept_and_shown(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/kernels");
        let rows = json!([with(pending("a"), &rules()), pending("b")]);
        server.call("POST", &path, Some(&rows)).await.json(200);
        let one = server.get(&format!("{path}/{}", id("a"))).await;
        for (key, value) in rules().as_object().unwrap() {
            assert_eq!(&one[key], value, "{key}");
        }
        let other = server.get(&format!("{path}/{}", id("b"))).await;
        let none = json!({"labels": other["labels"], "tolerations": other["tolerations"], "affinity": other["affinity"]});
        assert_eq!(none, json!({"labels": {}, "tolerations": [], "affinity": null}));
        assert_eq!(other["submitted_at"], Value::Null);
        server.clock.advance_seconds(600);
        let again = json!([pending("a"), pending("b"), one, other]);
        assert_eq!(server.call("POST", &path, Some(&again)).await.json(200)["changed"], 0);
        // The report of the start repeats nothing of it.
        let start = json!([kernel("a", "alice", "vision", "2026-01-13T10:00:00Z")]);
        server.call("POST", &path, Some(&start)).await.json(200);
        let started = server.get(&format!("{path}/{}", id("a"))).await;
        assert_eq!((&started["status"], &started["affinity"]), (&json!("RUNNING"), &rules()["affinity"]));
        let query = r#"{ kernels(resource_group: "gpu-cluster", status: RUNNING) { edges { node {
            submitted_at labels tolerations affinity gang_id gang_min } } } }"#;
        let told = server.graphql(query).await["data"]["kernels"]["edges"].clone();
        let nodes: Vec<&Value> = told.as_array().unwrap().iter().map(|edge| &edge["node"]).collect();
        let node = nodes.iter().find(|node| node["affinity"].is_string()).unwrap();
        assert_eq!((&node["submitted_at"], &node["labels"]), (&json!("2026-01-13T09:00:00Z"), &json!(r#"{"app":"trainer"}"#)));
        let affinity: Value = serde_json::from_str(node["affinity"].as_str().unwrap()).unwrap();
        assert_eq!(affinity, rules()["affinity"]);
        let shown = run(&server.db, ["kernels", "show", "gpu-cluster", &id("a").to_string(), "-o", "json"]).json();
        assert_eq!(shown["tolerations"], rules()["tolerations"]);
    }

    async fn faults_of_rules_name_their_place(db: TestDb) {
        let server = Server::new(db).await;
        let many: Value = (0..65).map(|at| (format!("l{at}"), json!("x"))).collect::<serde_json::Map<_, _>>().into();
        let broken = [
            (json!({"labels": many}), "/labels", "too_many"),
            (json!({"labels": {"a": 1}}), "/labels/a", "invalid_type"),
            (json!({"labels": {"": "x"}}), "/labels/", "invalid_name"),
            (json!({"submitted_at": "yesterday"}), "/submitted_at", "invalid_value"),
            (json!({"tolerations": [{"operator": "In"}]}), "/tolerations/0/operator", "invalid_value"),
            (json!({"tolerations": [{"effect": "Never"}]}), "/tolerations/0/effect", "invalid_value"),
            (json!({"tolerations": [{"colour": "red"}]}), "/tolerations/0/colour", "unknown_field"),
            (json!({"affinity": {"agents": [{"key": "k", "operator": "Like"}]}}), "/affinity/agents/0/operator", "invalid_value"),
            (json!({"affinity": {"agents": [{"key": "k", "operator": "Lt", "values": ["a"]}]}}), "/affinity/agents/0/values", "invalid_value"),
            (json!({"affinity": {"against": [{"labels": {"a": "b"}}]}}), "/affinity/against/0/topology_key", "missing_field"),
        ];
        let rows: Vec<Value> =
            broken.iter().enumerate().map(|(at, (changes, ..))| with(pending(&format!("broken{at}")), changes)).collect();
        let answer = server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200);
        assert_eq!(answer["rejected"], json!(broken.len()));
        for (error, (changes, pointer, code)) in answer["errors"].as_array().unwrap().iter().zip(&broken) {
            let fault = &error["errors"][0];
            assert_eq!((&fault["pointer"], &fault["code"]), (&json!(pointer), &json!(code)), "{changes}: {fault}");
        }
    }

    async fn agents_have_taints(db: TestDb) {
        let server = Server::new(db).await;
        let taints = json!([{"key": "gpu", "value": "a100", "effect": "NoSchedule"}, {"key": "old", "effect": "PreferNoSchedule"}]);
        let agent = json!({"available_slots": {"cpu": "4"}, "labels": {"rack": "r7"}, "taints": taints});
        let written = server.call("PUT", &group("/agents/n1"), Some(&agent)).await.json(201);
        assert_eq!(written["taints"], taints);
        assert_eq!(server.get("/audit-log?limit=1").await["items"][0]["after"]["taints"], taints);
        let set = ["agents", "set", "gpu-cluster", "n2", "--slot", "cpu=4", "--taint", "gpu=a100:NoSchedule", "--taint", "old:PreferNoSchedule"];
        run(&server.db, set).ok();
        server.service.refresh().await.unwrap();
        let listed = server.get(&group("/agents")).await["items"].clone();
        assert_eq!([&listed[0]["taints"], &listed[1]["taints"]], [&taints, &taints]);
        let upsert = r#"mutation { upsert_agent(resource_group: "gpu-cluster", agent_id: "n3", available_slots: {cpu: "1"},
            taints: [{key: "old", effect: "NoExecute"}]) { taints } }"#;
        assert_eq!(server.graphql(upsert).await["data"]["upsert_agent"]["taints"], r#"[{"effect":"NoExecute","key":"old"}]"#);
        for (change, pointer, code) in [
            (json!({"taints": [{"key": "", "effect": "NoSchedule"}]}), "/taints/0/key", "invalid_name"),
            (json!({"taints": [{"key": "a", "effect": "Never"}]}), "/taints/0/effect", "invalid_value"),
            (json!({"taints": [{"key": "a"}]}), "/taints/0/effect", "missing_field"),
            (json!({"labels": {"rack": "\u{7}"}}), "/labels/rack", "invalid_value"),
        ] {
            let body = with(json!({"available_slots": {}}), &change);
            assert_eq!(server.call("PUT", &group("/agents/n1"), Some(&body)).await.refused(422, code), [pointer], "{change}");
            let many = json!({"agents": [with(body, &json!({"agent_id": "n1"}))]});
            let answer = server.call("PUT", &group("/agents"), Some(&many)).await;
            assert_eq!(answer.refused(422, code), [format!("/agents/0{pointer}")], "{change}");
        }
        assert!(run(&server.db, ["agents", "set", "gpu-cluster", "n2", "--slot", "cpu=4", "--taint", "gpu"]).code == Some(2));
    }
}
