//! Slot names stay in memory for the life of a process, so the number that input can add is limited.

use fairshared::domain::slots::{MAX_NAMES, MAX_SLOTS};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::program::{Server, run};
use crate::support::database::{TestDb, postgres_unmigrated, sqlite_unmigrated};
use crate::support::fixture::{id, kernel, with};

struct Client<'a> {
    server: &'a Server,
    key: &'a str,
}

impl Client<'_> {
    async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}/resource-groups/g{path}", self.server.address);
        let request = reqwest::Client::new().request(method, url).bearer_auth(self.key).json(&body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Reports kernels that name `count` slots beginning with `prefix`, as many in each as it may.
    async fn report(&self, prefix: &str, count: usize, changes: &Value) -> Value {
        let names: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
        let rows = names.chunks(MAX_SLOTS).map(|part| {
            let slots: Map<String, Value> = part.iter().map(|name| (name.clone(), json!("1"))).collect();
            let row = kernel(&part[0], "ann", "ml", "2026-11-01T10:00:00Z");
            with(with(row, &json!({"occupied_slots": slots})), changes)
        });
        let (status, answer) = self.send(Method::POST, "/kernels", rows.collect()).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn refused(&self, method: Method, path: &str, body: Value) {
        let (status, answer) = self.send(method, path, body).await;
        assert_eq!((status, &answer["code"]), (422, &json!("too_many_slots")), "{answer}");
    }
}

/// A kernel that occupies one slot of this name.
fn free(slot: &str) -> Value {
    with(kernel(slot, "ann", "ml", "2026-11-01T10:00:00Z"), &json!({"occupied_slots": {slot: "1"}}))
}

async fn names_are_bounded(db: TestDb) {
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok();
    let key = key.trim_end();
    let server = Server::over(&db.url);
    let client = Client { server: &server, key };
    assert_eq!(client.send(Method::PUT, "", json!({})).await.0, 201);
    // Kernels that no later process needs to know of.
    let never_ran = json!({"status": "CANCELLED", "started_at": null, "terminated_at": "2026-11-01T10:00:00Z"});
    let answer = client.report("a", MAX_NAMES + 10 * MAX_SLOTS, &never_ran).await;
    let rejected = answer["errors"].as_array().unwrap();
    let rows = rejected[0]["rows"].as_array().unwrap();
    assert!(rejected.len() == 1 && (10..20).contains(&rows.len()), "{}", rows.len());
    assert_eq!(rejected[0]["errors"][0]["code"], "too_many_slots");
    // The group accepts no new slot names; known ones still work.
    let weights = json!({"scheduler_opts": {"resource_weights": {"new": "1"}}});
    client.refused(Method::PATCH, "/scheduler-options", weights).await;
    assert_eq!(client.send(Method::PUT, "/agents/n1", json!({"available_slots": {"a7": "1"}})).await.0, 201);
    let weights = json!({"scheduler_opts": {"resource_weights": {"a7": "2"}}});
    assert_eq!(client.send(Method::PATCH, "/scheduler-options", weights).await.0, 200);
    assert_eq!(client.report("a", MAX_SLOTS, &never_ran).await["accepted"], 1);
    // Agents of the group bring new slots all the same, and so do other groups, other keys and requests about no group.
    assert_eq!(client.report("fresh", 1, &never_ran).await["rejected"], 1);
    assert_eq!(client.send(Method::PUT, "/agents/n2", json!({"available_slots": {"fresh0": "1"}})).await.0, 201);
    assert_eq!(client.report("fresh", 1, &never_ran).await["accepted"], 1);
    assert_eq!(client.send(Method::PUT, "/../h", json!({})).await.0, 201);
    assert_eq!(client.send(Method::POST, "/../h/kernels", json!([free("other-group")])).await.1["accepted"], 1);
    let other = run(&db, ["keys", "create", "--role", "scheduler", "--group", "g", "--label", "other"]).ok();
    let other = Client { server: &server, key: other.trim_end() };
    assert_eq!(other.send(Method::POST, "/kernels", json!([free("other-key")])).await.1["accepted"], 1);
    let division = json!({"algorithm": "drf", "capacity": {"simulated": "1"}, "queues": []});
    assert_eq!(client.send(Method::POST, "/../../division/simulate", division).await.0, 200);
    server.kill();

    // Stored names are accepted, even when two processes have added more than one may.
    let server = Server::over(&db.url);
    let client = Client { server: &server, key };
    assert!(client.report("b", MAX_NAMES, &json!({})).await["accepted"].as_u64().unwrap() > 140);
    server.kill();
    let server = Server::over(&db.url);
    let client = Client { server: &server, key };
    let (status, kernels) = client.send(Method::GET, "/kernels?limit=1000", Value::Null).await;
    assert_eq!(status, 200, "{kernels}");
    let rows = kernels["items"].as_array().unwrap();
    let names: usize = rows.iter().map(|row| row["occupied_slots"].as_object().unwrap().len()).sum();
    assert!(names > MAX_NAMES * 3 / 2, "{names}");
    assert!(rows.iter().any(|row| row["kernel_id"] == json!(id("a0"))));
    let (_, options) = client.send(Method::GET, "/scheduler-options", Value::Null).await;
    assert_eq!(options["scheduler_opts"]["resource_weights"], json!({"a7": "2"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_bounded_on_sqlite() {
    names_are_bounded(sqlite_unmigrated()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_bounded_on_postgres() {
    names_are_bounded(postgres_unmigrated().await).await;
}
