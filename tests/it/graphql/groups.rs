//! Mutations of resource groups and their agents: the same rules, faults and audit entries as over REST.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, role};
use crate::rest::support::Server;
use crate::support::fixture::admin;
use crate::support::on_both;

/// The newest entries of the audit log: action, target and reason.
async fn entries(api: &Api, count: usize) -> Vec<(String, String, Value)> {
    let log =
        api.ask(&format!("{{ audit_log(first: {count}) {{ edges {{ node {{ action target reason }} }} }} }}")).await;
    let text = |node: &Value, key: &str| node[key].as_str().unwrap().to_owned();
    let edges = log["audit_log"]["edges"].as_array().unwrap();
    edges
        .iter()
        .map(|edge| &edge["node"])
        .map(|n| (text(n, "action"), text(n, "target"), n["reason"].clone()))
        .collect()
}

/// The error of a request with variables, which has to fail.
async fn fault(api: &Api, query: &str, variables: Value) -> Value {
    let answer = api.send(admin(), query, variables).await;
    answer["errors"][0]["extensions"].clone()
}

on_both! {
    async fn a_group_comes_changes_and_goes(db: TestDb) {
        let api = Api::cluster(db).await;
        let fields = "name scheduler scheduler_opts configured_scheduler_opts config_revision capacity";
        let upsert = |arguments: &str| format!("mutation {{ upsert_resource_group(name: \"batch\"{arguments}) {{ {fields} }} }}");
        let created = api.ask(&upsert(r#", scheduler: "fifo", scheduler_opts: {half_life_days: 3}, reason: "new cluster""#)).await["upsert_resource_group"].clone();
        assert_eq!((&created["name"], &created["scheduler"], &created["capacity"]), (&json!("batch"), &json!("fifo"), &json!("{}")));
        assert_eq!(created["configured_scheduler_opts"], r#"{"half_life_days":3}"#);
        // Options that are given replace all that were set; without them they stay.
        let replaced = api.ask(&upsert(r#", scheduler_opts: "{\"lookback_days\": 14}""#)).await["upsert_resource_group"].clone();
        assert_eq!((&replaced["scheduler"], &replaced["configured_scheduler_opts"]), (&json!("fifo"), &json!(r#"{"lookback_days":14}"#)));
        let renamed = api.ask(&upsert(r#", scheduler: "drf", reason: "trial""#)).await["upsert_resource_group"].clone();
        assert_eq!((&renamed["scheduler"], &renamed["configured_scheduler_opts"]), (&json!("drf"), &json!(r#"{"lookback_days":14}"#)));
        // A revision that is gone refuses the change.
        let stale = created["config_revision"].as_str().unwrap();
        let refused = api.refused(admin(), &upsert(&format!(r#", scheduler: "lifo", if_revision: "{stale}""#))).await;
        assert_eq!((&refused["code"], &refused["config_revision"]), (&json!("config_changed"), &renamed["config_revision"]));

        assert_eq!(api.ask(r#"mutation { delete_resource_group(name: "batch", reason: "sold") }"#).await, json!({"delete_resource_group": true}));
        assert_eq!(api.ask(r#"{ resource_group(name: "batch") { name } }"#).await["resource_group"], Value::Null);
        assert_eq!(api.code(r#"mutation { delete_resource_group(name: "batch") }"#).await, "unknown_resource_group");
        let entry = |action: &str, reason: Value| (action.to_owned(), "batch".to_owned(), reason);
        assert_eq!(entries(&api, 4).await, [
            entry("resource_group.delete", json!("sold")), entry("resource_group.put", json!("trial")),
            entry("resource_group.put", Value::Null), entry("resource_group.create", json!("new cluster")),
        ]);
    }

    async fn a_group_with_history_has_to_be_confirmed_and_forced(db: TestDb) {
        let api = Api::cluster(db).await;
        let running = crate::support::fixture::kernel("k9", "alice", "ml", "2026-01-12T23:00:00Z");
        assert!(api.fixture.ingest(&[running]).await.is_empty());
        let delete = |arguments: &str| format!("mutation {{ delete_resource_group(name: \"gpu-cluster\"{arguments}) }}");
        for arguments in ["", ", force: true", r#", confirm: "gpu""#] {
            let refused = api.refused(admin(), &delete(arguments)).await;
            assert_eq!(refused["code"], "confirmation_needed", "{arguments}");
            assert_eq!((&refused["counts"]["kernels"], &refused["counts"]["running_kernels"]), (&json!(7), &json!(1)));
        }
        let refused = api.refused(admin(), &delete(r#", confirm: "gpu-cluster""#)).await;
        assert_eq!((&refused["code"], &refused["counts"]["running_kernels"]), (&json!("kernels_running"), &json!(1)));
        assert_eq!(api.ask("{ resource_groups { name } }").await["resource_groups"], json!([{"name": "gpu-cluster"}]));
        api.ask(&delete(r#", confirm: "gpu-cluster", force: true"#)).await;
        assert_eq!(api.ask("{ resource_groups { name } }").await["resource_groups"], json!([]));
        assert_eq!(entries(&api, 1).await[0].0, "resource_group.delete");
    }

    async fn agents_are_the_capacity(db: TestDb) {
        let api = Api::cluster(db).await;
        let one = api.ask(r#"mutation { upsert_agent(resource_group: "gpu-cluster", agent_id: "node-2", available_slots: {cpu: "64", mem: "2Ki"},
            labels: {rack: "r7"}, reason: "delivered") { agent_id resource_group available_slots alive schedulable labels } }"#).await;
        assert_eq!(one["upsert_agent"], json!({
            "agent_id": "node-2", "resource_group": "gpu-cluster", "available_slots": r#"{"cpu":"64","mem":"2048"}"#,
            "alive": true, "schedulable": true, "labels": r#"{"rack":"r7"}"#,
        }));
        let many = r#"mutation ($agents: [AgentInput!]!) { upsert_agents(resource_group: "gpu-cluster", agents: $agents, reason: "drain") {
            upserted_count resource_group { capacity } } }"#;
        let agents = json!([
            {"agent_id": "node-1", "available_slots": {"cpu": "0.123456789012"}},
            {"agent_id": "node-2", "available_slots": r#"{"cpu": 64}"#, "alive": false},
            {"agent_id": "node-3", "available_slots": {"cpu": "1"}, "schedulable": false, "labels": null},
        ]);
        let answer = api.send(admin(), many, json!({"agents": agents})).await;
        assert_eq!(answer["data"]["upsert_agents"], json!({"upserted_count": 3, "resource_group": {"capacity": r#"{"cpu":"0.123456789012"}"#}}), "{answer}");
        api.ask(r#"mutation { delete_agent(resource_group: "gpu-cluster", agent_id: "node-1", reason: "broken") }"#).await;
        let left = api.ask(r#"{ agents(resource_group: "gpu-cluster") { edges { node { agent_id alive schedulable } } } resource_group(name: "gpu-cluster") { capacity } }"#).await;
        assert_eq!(left["agents"]["edges"], json!([
            {"node": {"agent_id": "node-2", "alive": false, "schedulable": true}}, {"node": {"agent_id": "node-3", "alive": true, "schedulable": false}},
        ]));
        assert_eq!(left["resource_group"]["capacity"], "{}");
        assert_eq!(api.code(r#"mutation { delete_agent(resource_group: "gpu-cluster", agent_id: "node-1") }"#).await, "unknown_agent");
        assert_eq!(api.code(r#"mutation { delete_agent(resource_group: "none", agent_id: "node-1") }"#).await, "unknown_resource_group");
        let entry = |action: &str, target: &str, reason: &str| (action.to_owned(), target.to_owned(), json!(reason));
        assert_eq!(entries(&api, 3).await, [
            entry("agent.delete", "node-1", "broken"), entry("agents.put", "gpu-cluster", "drain"), entry("agent.put", "node-2", "delivered"),
        ]);
    }

    async fn faults_point_into_the_request_and_change_nothing(db: TestDb) {
        let api = Api::cluster(db).await;
        let before = api.ask(r#"{ agents(resource_group: "gpu-cluster") { count edges { node { available_slots } } } audit_log { count } }"#).await;
        let agents = "mutation ($agents: [AgentInput!]!) { upsert_agents(resource_group: \"gpu-cluster\", agents: $agents) { upserted_count } }";
        let good = json!({"agent_id": "ok", "available_slots": {"cpu": "1"}});
        for (bad, pointer, code) in [
            (json!({"agent_id": "a", "available_slots": {"cpu": "-1"}}), "/agents/1/available_slots/cpu", "invalid_amount"),
            (json!({"agent_id": "a", "available_slots": {"cpu": "many"}}), "/agents/1/available_slots/cpu", "invalid_amount"),
            (json!({"agent_id": "a", "available_slots": [1]}), "/agents/1/available_slots", "invalid_type"),
            (json!({"agent_id": "a", "available_slots": {}, "labels": {"rack": 7}}), "/agents/1/labels/rack", "invalid_type"),
            (json!({"agent_id": "", "available_slots": {}}), "/agents/1/agent_id", "invalid_name"),
            (json!({"agent_id": "ok", "available_slots": {}}), "/agents/1/agent_id", "duplicate_agent"),
        ] {
            let refused = fault(&api, agents, json!({"agents": [good, bad]})).await;
            let found = (&refused["errors"][0]["pointer"], &refused["errors"][0]["code"]);
            assert_eq!(found.0, pointer, "{bad}: {refused}");
            // REST answers the same code.
            assert!(code == "invalid_amount" || found.1 == code, "{bad}: {refused}");
        }
        let one = "mutation ($slots: JSONString!) { upsert_agent(resource_group: \"gpu-cluster\", agent_id: \"a\", available_slots: $slots) { agent_id } }";
        assert_eq!(fault(&api, one, json!({"slots": {"cpu": "-1"}})).await["errors"][0]["pointer"], "/available_slots/cpu");
        for (query, code) in [
            (r#"mutation { upsert_resource_group(name: "") { name } }"#, "invalid_name"),
            (r#"mutation { upsert_resource_group(name: "x", scheduler: "best") { name } }"#, "unknown_scheduler"),
            (r#"mutation { upsert_resource_group(name: "x", scheduler_opts: [1]) { name } }"#, "invalid_value"),
            (r#"mutation { upsert_resource_group(name: "x", scheduler_opts: {half_lives: 3}) { name } }"#, "unknown_option"),
            (r#"mutation { upsert_agent(resource_group: "none", agent_id: "a", available_slots: {}) { agent_id } }"#, "unknown_resource_group"),
        ] {
            let refused = api.refused(admin(), query).await;
            assert_eq!(refused["code"], code, "{query}");
        }
        let after = api.ask(r#"{ agents(resource_group: "gpu-cluster") { count edges { node { available_slots } } } audit_log { count } }"#).await;
        assert_eq!(after, before);
        assert_eq!(api.ask("{ resource_groups { name } }").await["resource_groups"].as_array().unwrap().len(), 1);
    }

    async fn a_request_has_at_most_50000_agents(db: TestDb) {
        let server = Server::new(db).await;
        let query = "mutation ($agents: [AgentInput!]!) { upsert_agents(resource_group: \"gpu-cluster\", agents: $agents) { upserted_count } }";
        let agents: Vec<_> = (0..=50_000).map(|n| json!({"agent_id": format!("n{n}"), "available_slots": {}})).collect();
        let body = json!({"query": query, "variables": {"agents": agents}});
        let refused = server.call("POST", "/graphql", Some(&body)).await.json(200);
        let faults = &refused["errors"][0]["extensions"]["errors"];
        assert_eq!(*faults, json!([{"pointer": "/agents", "code": "too_many", "detail": "`agents` lists more than 50000 elements"}]));
    }

    async fn only_an_admin_of_the_group_writes(db: TestDb) {
        let api = Api::cluster(db).await;
        let elsewhere = || {
            let mut caller = admin();
            caller.principal.groups = Some(std::sync::Arc::from(["other".to_owned()]));
            caller
        };
        for query in [
            r#"mutation { upsert_resource_group(name: "gpu-cluster", scheduler: "best") { name } }"#,
            r#"mutation { delete_resource_group(name: "gpu-cluster", confirm: "gpu-cluster", force: true) }"#,
            r#"mutation { upsert_agent(resource_group: "gpu-cluster", agent_id: "", available_slots: {cpu: "x"}) { agent_id } }"#,
            r#"mutation { upsert_agents(resource_group: "gpu-cluster", agents: [{agent_id: "", available_slots: {cpu: "x"}}]) { upserted_count } }"#,
            r#"mutation { delete_agent(resource_group: "gpu-cluster", agent_id: "none") }"#,
        ] {
            for who in [role(Role::Viewer, None), role(Role::Scheduler, None), role(Role::User, Some("alice"))] {
                assert_eq!(api.refused(who, query).await["code"], "forbidden", "{query}");
            }
        }
        for query in [
            r#"mutation { upsert_resource_group(name: "gpu-cluster", scheduler: "fifo") { name } }"#,
            r#"mutation { upsert_resource_group(name: "new") { name } }"#,
            r#"mutation { delete_resource_group(name: "gpu-cluster", confirm: "gpu-cluster", force: true) }"#,
            r#"mutation { upsert_agent(resource_group: "gpu-cluster", agent_id: "a", available_slots: {}) { agent_id } }"#,
            r#"mutation { upsert_agents(resource_group: "gpu-cluster", agents: [{agent_id: "a", available_slots: {}}]) { upserted_count } }"#,
            r#"mutation { delete_agent(resource_group: "gpu-cluster", agent_id: "node-1") }"#,
        ] {
            assert_eq!(api.refused(elsewhere(), query).await["code"], "forbidden", "{query}");
        }
        assert_eq!(api.ask(r#"{ agents(resource_group: "gpu-cluster") { count } resource_groups { name scheduler } }"#).await,
            json!({"agents": {"count": 1}, "resource_groups": [{"name": "gpu-cluster", "scheduler": "fairshare"}]}));
    }

    async fn mutations_of_one_document_run_one_after_the_other(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let data = api.ask(r#"mutation {
            upsert_resource_group(name: "new") { name }
            upsert_queues(resource_group: "new", queues: [{name: "a", quota: {cpu: "1"}}]) { created_count }
            upsert_agent(resource_group: "new", agent_id: "n", available_slots: {cpu: "4"}) { agent_id }
            update_scheduler_options(resource_group: "new", scheduler: "drf") { capacity }
            delete_queue(resource_group: "new", name: "a")
            delete_agent(resource_group: "new", agent_id: "n")
            delete_resource_group(name: "new")
        }"#).await;
        assert_eq!((&data["upsert_queues"]["created_count"], &data["update_scheduler_options"]["capacity"]), (&json!(1), &json!(r#"{"cpu":"4"}"#)));
        assert_eq!(api.ask("{ resource_groups { name } }").await["resource_groups"].as_array().unwrap().len(), 1);
    }
}
