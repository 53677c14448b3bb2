//! The answers of GET can be sent back, and change nothing.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::id;
use crate::support::on_both;

/// The same body with another value for every key in `keys`.
fn with_other(mut body: Value, keys: &[&str]) -> Value {
    for key in keys {
        body[*key] = json!({"anything": [1, "goes"]});
    }
    body
}

async fn server(db: crate::support::database::TestDb) -> Server {
    let server = Server::with_usage(db).await;
    let weights = json!({"items": [
        {"target_type": "domain", "target_id": "research", "weight": "2"},
        {"target_type": "project", "target_id": id("vision"), "weight": 1.5},
        {"target_type": "user", "target_id": id("alice"), "weight": "0.5"},
    ]});
    server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
    let options = json!({"scheduler": "drf", "scheduler_opts": {
        "half_life_days": 3, "resource_weights": {"cpu": "2", "cuda.devices": 1},
        "division": {"algorithm": "min_share", "options": {"rule": "on_top", "whole_slots": ["gpu"], "score_weights": {"drf": "3"}}},
    }});
    server.call("PATCH", &group("/scheduler-options"), Some(&options)).await.json(200);
    let agent = json!({"available_slots": {"cpu": 4, "mem": "1e3".parse::<f64>().unwrap()}, "schedulable": false, "labels": {"rack": "r7"}});
    server.call("PUT", &group("/agents/node-07"), Some(&agent)).await.json(201);
    let queues = json!({"queues": [{"name": "a", "quota": {"cpu": "unlimited"}, "over_quota_weight": {"cpu": 2}},
        {"name": "b", "parent": "a", "preempt_min_runtime": 60, "mode": "fifo"}]});
    server.call("PUT", &group("/queues"), Some(&queues)).await.json(200);
    server
}

/// All data that a request could change.
async fn group_snapshot(server: &Server) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in
        ["", "/scheduler-options", "/fair-share-weights", "/fair-share-status", "/kernels", "/queues", "/division"]
    {
        seen.push(server.get(&group(path)).await);
    }
    let mut agents = server.get(&group("/agents")).await;
    for agent in agents["items"].as_array_mut().unwrap() {
        agent["updated_at"].take();
    }
    seen.push(agents);
    seen
}

on_both! {
    async fn what_get_answers_is_taken_back(db: TestDb) {
        let server = server(db).await;
        let before = group_snapshot(&server).await;
        let back = async |method: &str, get: &str, put: &str, read_only: &[&str]| {
            let body = server.get(&group(get)).await;
            for body in [body.clone(), with_other(body, read_only)] {
                let answer = server.call(method, &group(put), Some(&body)).await;
                assert!(answer.status.is_success(), "{method} {put} {body}: {}", String::from_utf8_lossy(&answer.bytes));
            }
            assert_eq!(group_snapshot(&server).await, before, "{method} {put}");
        };
        back("PUT", "", "", &["capacity", "calculated_at", "warnings", "config_revision"]).await;
        back("PATCH", "/scheduler-options", "/scheduler-options", &["warnings", "config_revision"]).await;
        back("PATCH", "", "/scheduler-options", &["capacity", "calculated_at", "warnings", "config_revision"]).await;
        back("PUT", "/fair-share-weights", "/fair-share-weights", &["config_revision"]).await;
        back("PUT", "/queues/a", "/queues/a", &[]).await;
        back("PUT", "/queues/b", "/queues/b", &[]).await;
        let agents = server.get(&group("/agents")).await["items"].clone();
        for agent in agents.as_array().unwrap() {
            let path = group(&format!("/agents/{}", agent["agent_id"].as_str().unwrap()));
            for body in [agent.clone(), with_other(agent.clone(), &["updated_at"])] {
                server.call("PUT", &path, Some(&body)).await.json(200);
            }
        }
        let listed = server.get(&group("/kernels")).await["items"].clone();
        let mut kernels = listed.as_array().unwrap().clone();
        for kernel in &listed.as_array().unwrap().clone() {
            let one = server.get(&group(&format!("/kernels/{}", kernel["kernel_id"].as_str().unwrap()))).await;
            kernels.push(with_other(one.clone(), &["last_usage_recorded_at", "slices", "records_from"]));
            kernels.push(one);
        }
        let taken = server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200);
        assert_eq!((&taken["accepted"], &taken["rejected"]), (&json!(kernels.len()), &json!(0)), "{taken}");
        assert_eq!(group_snapshot(&server).await, before);
    }

    async fn names_must_be_those_of_the_path(db: TestDb) {
        let server = server(db).await;
        let before = group_snapshot(&server).await;
        let taken = async |method: &str, path: &str, body: Value, pointer: &str| {
            let answer = server.call(method, &group(path), Some(&body)).await;
            assert_eq!(answer.refused(422, "contradiction"), [pointer], "{method} {path}");
        };
        taken("PUT", "", json!({"name": "other"}), "/name").await;
        taken("PATCH", "/scheduler-options", json!({"name": "other"}), "/name").await;
        taken("PUT", "/agents/node-07", json!({"agent_id": "node-08", "available_slots": {}}), "/agent_id").await;
        taken("PUT", "/queues/a", json!({"name": "b"}), "/name").await;
        for (method, path, body) in [
            ("PUT", group(""), json!({"capacities": {}})),
            ("PUT", group("/agents/node-07"), json!({"available_slots": {}, "created_at": null})),
            ("PUT", group("/fair-share-weights"), json!({"items": [], "total": 0})),
        ] {
            server.call(method, &path, Some(&body)).await.refused(422, "unknown_field");
        }
        assert_eq!(group_snapshot(&server).await, before);
    }
}
