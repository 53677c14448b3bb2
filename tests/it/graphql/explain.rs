//! Explanations and sequences over GraphQL; the tests of REST cover their rules.

use std::collections::BTreeMap;

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, role};
use crate::support::fixture::{admin, id, kernel, with};
use crate::support::on_both;

fn read(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

fn explain(arguments: &str) -> String {
    format!("{{ explain_fair_share(resource_group: \"gpu-cluster\", {arguments}) }}")
}

const PENDING: &str = "{ sequence(resource_group: \"gpu-cluster\") { sequencer mode count items { workload_id user_name project_id \
    position requested_slots rank ahead owners_ahead decided_by because \
    entitled_share entitled_share_of_parent } } }";

on_both! {
    async fn an_explanation_is_that_of_the_endpoint(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(&explain(&format!("user: \"{}\"", id("carol")))).await;
        let told = read(&data["explain_fair_share"]);
        assert_eq!((&told["tier"], &told["user_uuid"], &told["place"]), (&json!("user"), &json!(id("carol")), &told["rank"]));
        let data = api.ask(&explain(&format!("tier: \"project\", project: \"{}\", place: 1", id("web")))).await;
        let told = read(&data["explain_fair_share"]);
        assert_eq!((&told["tier"], &told["project_name"]), (&json!("project"), &json!("web")));
        let own = api.ask_as(role(Role::User, Some("alice")), "{ explain_fair_share(resource_group: \"gpu-cluster\") }").await;
        assert_eq!(read(&own["explain_fair_share"])["user_name"], "alice");
        let no_place = format!("user: \"{}\", place: 0", id("alice"));
        for (arguments, code, pointer) in [
            ("tier: \"nobody\"", "invalid_value", "/tier"), ("tier: \"domain\"", "missing_field", "/domain"),
            (no_place.as_str(), "out_of_range", "/place"),
        ] {
            let refused = api.refused(admin(), &explain(arguments)).await;
            assert_eq!((&refused["code"], &refused["errors"][0]["pointer"]), (&json!(code), &json!(pointer)));
        }
        assert_eq!(api.code(&explain("user: \"nobody\"")).await, "unknown_user");
        let other = role(Role::User, Some("bob"));
        assert_eq!(api.refused(other, &explain(&format!("user: \"{}\"", id("alice")))).await["code"], "forbidden");
    }

    async fn buckets_say_how_much_they_count(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask("{ user_usage_buckets(resource_group: \"gpu-cluster\") { edges { node { period_start decay_weight contribution } } } }").await;
        for edge in data["user_usage_buckets"]["edges"].as_array().unwrap() {
            assert_eq!(edge["node"]["decay_weight"], "1");
            assert!(edge["node"]["contribution"].as_str().unwrap().parse::<f64>().unwrap() > 0.0);
        }
    }

    async fn what_kernels_tell_puts_them_into_the_order_of_what_is_pending(db: TestDb) {
        let api = Api::cluster(db).await;
        let waits = |name: &str, user: &str, project: &str, more: Value| {
            with(with(kernel(name, user, project, ""), &json!({"status": "PENDING", "started_at": null})), &more)
        };
        let same = |name: &str| waits(name, "alice", "ml", json!({}));
        let kernels = [
            same("p1"), same("p2"), same("p3"), same("p4"), waits("p5", "alice", "ml", json!({"priority": 7, "queue": "night"})),
            waits("p6", "carol", "web", json!({"expected_seconds": 600})),
        ];
        // The people of one report become known in the order of their ids.
        for kernel in &kernels {
            assert!(api.fixture.ingest(std::slice::from_ref(kernel)).await.is_empty());
        }
        let query = "{ kernels(resource_group: \"gpu-cluster\", status: PENDING) { edges { node { \
            kernel_id user_uuid project_id occupied_slots priority queue expected_seconds known_order } } } }";
        let data = api.ask(query).await;
        let mut nodes: Vec<&Value> = data["kernels"]["edges"].as_array().unwrap().iter().map(|edge| &edge["node"]).collect();
        let given: Vec<&Value> = nodes.iter().map(|node| &node["kernel_id"]).collect();
        nodes.sort_by_key(|node| node["known_order"].as_i64());
        let known: Vec<&Value> = nodes.iter().map(|node| &node["kernel_id"]).collect();
        assert_eq!(known, kernels.iter().map(|kernel| &kernel["kernel_id"]).collect::<Vec<_>>());
        assert_ne!(known, given, "by id they are told in the same order");
        assert_eq!((&nodes[4]["priority"], &nodes[4]["queue"], &nodes[5]["expected_seconds"]), (&json!(7), &json!("night"), &json!(600)));

        let workload = |node: &Value| json!({
            "workload_id": node["kernel_id"], "user_uuid": node["user_uuid"], "project_id": node["project_id"], "requested_slots": read(&node["occupied_slots"]),
            "priority": node["priority"], "queue": node["queue"], "expected_seconds": node["expected_seconds"],
        });
        let input = json!({"workloads": nodes.into_iter().map(workload).collect::<Vec<_>>()});
        let simulate = "query($input: JSONString!) { simulate_fair_shares(resource_group: \"gpu-cluster\", input: $input) }";
        let answer = api.send(admin(), simulate, json!({"input": input})).await;
        let told = read(&answer["data"]["simulate_fair_shares"]);
        let positions = |items: &Value, field: &str| -> BTreeMap<String, i64> {
            items.as_array().unwrap().iter().map(|item| (item["workload_id"].to_string(), item[field].as_i64().unwrap())).collect()
        };
        let pending = api.ask(PENDING).await;
        assert_eq!(positions(&told["workloads"]["items"], "position_before"), positions(&pending["sequence"]["items"], "position"));

        let own = api.ask_as(role(Role::User, Some("alice")), query).await;
        assert!(own["kernels"]["edges"].as_array().unwrap().iter().all(|edge| edge["node"]["known_order"].is_null()));
    }

    async fn what_is_pending_is_shown_in_its_order(db: TestDb) {
        let api = Api::cluster(db).await;
        let waits = |name: &str, user: &str, project: &str| with(kernel(name, user, project, ""), &json!({"status": "PENDING", "started_at": null}));
        let kernels = [waits("p1", "alice", "ml"), waits("p2", "carol", "web"), waits("p3", "alice", "ml"), with(waits("p4", "bob", "ml"), &json!({"occupied_slots": {"cpu": "7"}}))];
        assert!(api.fixture.ingest(&kernels).await.is_empty());
        let data = api.ask(PENDING).await;
        let told = &data["sequence"];
        let ids: Vec<&Value> = told["items"].as_array().unwrap().iter().map(|item| &item["workload_id"]).collect();
        assert_eq!(ids, [&json!(id("p2")), &json!(id("p4")), &json!(id("p1")), &json!(id("p3"))]);
        assert_eq!(read(&told["items"][1]["requested_slots"]), json!({"cpu": "7"}));
        assert_eq!((&told["sequencer"], &told["mode"], &told["count"]), (&json!("fairshare"), &json!("plain"), &json!(4)));
        let last = &told["items"][3];
        assert_eq!((&last["ahead"], &last["owners_ahead"], &last["decided_by"]), (&json!(3), &json!(3), &json!("given_order")));
        assert_eq!((&last["user_name"], &last["because"]), (&json!("alice"), &json!("The one ahead was given earlier.")));
        assert_eq!((&told["items"][0]["entitled_share"], &told["items"][0]["entitled_share_of_parent"]), (&json!("0.25"), &json!("0.5")));
        // A user sees the own ones, with their places among all.
        let own = api.ask_as(role(Role::User, Some("alice")), PENDING).await;
        let items = own["sequence"]["items"].as_array().unwrap();
        assert_eq!(items.iter().map(|item| &item["position"]).collect::<Vec<_>>(), [&json!(3), &json!(4)]);
        assert!(!own.to_string().contains(&id("carol").to_string()));
        // A list that is given is that of a scheduler.
        let input = json!({"workloads": [
            {"workload_id": "w1", "user_uuid": id("alice"), "project_id": id("ml")}, {"workload_id": "w2", "user_uuid": id("carol"), "project_id": id("web")},
        ]});
        let query = "query($input: JSONString!) { sequence(resource_group: \"gpu-cluster\", input: $input, mode: \"progressive\", first: 1) \
            { mode count items { workload_id requested_slots charge factor_after } } }";
        let answer = api.send(admin(), query, json!({"input": input})).await;
        let told = &answer["data"]["sequence"];
        assert_eq!((&told["mode"], &told["count"], &told["items"][0]["workload_id"]), (&json!("progressive"), &json!(2), &json!("w2")));
        assert_eq!(told["items"][0]["requested_slots"], Value::Null);
        assert!(told["items"][0]["charge"].is_string() && told["items"].as_array().unwrap().len() == 1);
        let viewer = api.send(role(Role::Viewer, None), query, json!({"input": input})).await;
        assert_eq!(viewer["errors"][0]["extensions"]["code"], "forbidden");
        let wrong = api.send(admin(), query, json!({"input": {"workloads": [{}]}})).await;
        let fault = &wrong["errors"][0]["extensions"]["errors"][0]["pointer"];
        assert_eq!(fault, "/input/workloads/0/workload_id");
        assert_eq!(api.code("{ sequence(resource_group: \"gpu-cluster\", mode: \"fast\") { count } }").await, "invalid_value");
        assert_eq!(api.code("{ sequence(resource_group: \"gpu-cluster\", first: 0) { count } }").await, "invalid_page_size");
    }
}
