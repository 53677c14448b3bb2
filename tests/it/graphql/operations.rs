//! Jobs, agents and the audit log for an admin's view.

use serde_json::{Value, json};

use super::support::{Api, column};
use crate::support::fixture::admin;
use crate::support::on_both;

on_both! {
    async fn a_job_runs_on_request(db: TestDb) {
        let api = Api::cluster(db).await;
        let run = r#"mutation { run_job(name: "aggregate", resource_group: "gpu-cluster") { job resource_group trigger status started_at ended_at counts error } }"#;
        let data = api.ask(run).await;
        assert_eq!(data["run_job"], json!([{
            "job": "aggregate", "resource_group": "gpu-cluster", "trigger": "request", "status": "succeeded",
            "started_at": "2026-01-13T00:00:00Z", "ended_at": "2026-01-13T00:00:00Z", "counts": r#"{"slices_created":0}"#, "error": null,
        }]));
        api.ask(run).await;
        api.ask(run).await;
        let data = api.ask("{ jobs { name description schedule next_run_at last_runs { resource_group status } } }").await;
        assert_eq!(data["jobs"][0]["name"], "aggregate");
        assert_eq!((&data["jobs"][0]["schedule"], &data["jobs"][0]["next_run_at"]), (&json!("0 30 * * * *"), &json!("2026-01-13T01:00:00Z")));
        assert_eq!(data["jobs"][0]["last_runs"], json!([{"resource_group": "gpu-cluster", "status": "succeeded"}]));

        let page = async |args: &str| api.ask(&format!("{{ job_runs({args}) {{ count edges {{ node {{ id }} }} pageInfo {{ hasNextPage endCursor }} }} }}")).await["job_runs"].clone();
        let whole = page(r#"job: "aggregate""#).await;
        assert_eq!(whole["count"], 3);
        let first = page("first: 2").await;
        assert_eq!(first["pageInfo"]["hasNextPage"], true);
        let second = page(&format!("first: 2, after: {}", first["pageInfo"]["endCursor"])).await;
        assert_eq!(second["pageInfo"]["hasNextPage"], false);
        assert_eq!([column(&first, "id"), column(&second, "id")].concat(), column(&whole, "id"));
        let unknown = api.refused(admin(), r#"{ job_runs(job: "rebuild") { count } }"#).await;
        assert_eq!(unknown["code"], "unknown_job");
    }

    async fn groups_and_agents(db: TestDb) {
        let api = Api::cluster(db).await;
        api.fixture.agent("node-2", &json!({"cpu": "0.5"})).await;
        let data = api.ask(r#"{
            resource_groups { name capacity calculated_at }
            agents(resource_group: "gpu-cluster", last: 1) { count edges { node { agent_id resource_group available_slots alive schedulable labels } } pageInfo { hasPreviousPage } }
        }"#).await;
        assert_eq!(data["resource_groups"], json!([{"name": "gpu-cluster", "capacity": r#"{"cpu":"100.5","mem":"1000"}"#, "calculated_at": "2026-01-13T00:00:00Z"}]));
        assert_eq!(data["agents"]["count"], 2);
        assert_eq!(data["agents"]["pageInfo"]["hasPreviousPage"], true);
        assert_eq!(data["agents"]["edges"][0]["node"], json!({
            "agent_id": "node-2", "resource_group": "gpu-cluster", "available_slots": r#"{"cpu":"0.5"}"#,
            "alive": true, "schedulable": true, "labels": "{}",
        }));
    }

    async fn the_audit_log_tells_who_and_what(db: TestDb) {
        let api = Api::cluster(db).await;
        api.ask(r#"mutation { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "sales", weight: 2, reason: "asked for it") { id } }"#).await;
        let data = api.ask("{ audit_log(first: 1) { edges { node { at actor request_id key_id action resource_group target before after reason undoable names { name } } } } }").await;
        let mut entry = data["audit_log"]["edges"][0]["node"].clone();
        assert!(entry.as_object_mut().unwrap().remove("request_id").unwrap().is_string());
        assert_eq!(entry, json!({
            "at": "2026-01-13T00:00:00Z", "actor": "test", "key_id": Value::Null, "action": "weights.put", "resource_group": "gpu-cluster",
            "target": "gpu-cluster", "before": r#"{"domain:sales":null}"#, "after": r#"{"domain:sales":"2"}"#, "reason": "asked for it",
            "undoable": true, "names": [],
        }));
    }
}
