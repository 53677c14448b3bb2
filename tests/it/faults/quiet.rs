//! The lines that a service causes in the log of PostgreSQL.

use std::time::Duration;

use serde_json::json;

use super::support::until;
use crate::cli::program::{Server, run};
use crate::support::database::{TestDb, postgres};
use crate::support::fixture::{GROUP, kernel};

/// The times of the service's last heartbeats.
async fn heartbeats(db: &TestDb) -> Vec<i64> {
    let store = db.store().await;
    let runs = fairshared::store::runs::list(store.read()).await.unwrap();
    store.close().await.unwrap();
    runs.iter().map(|run| run.last_heartbeat_at.micros()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_and_a_busy_service_cause_no_warnings() {
    let db = postgres().await;
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok();
    let server = Server::over(&db.url);
    let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
    let send = async |method: reqwest::Method, path: &str, body: serde_json::Value| {
        let request = http.request(method, format!("{}{path}", server.address)).bearer_auth(key.trim_end());
        request.json(&body).send().await.unwrap().status().as_u16()
    };
    // Busy: many at once, some refused, some given up while they wait.
    let group = format!("/resource-groups/{GROUP}");
    assert_eq!(send(reqwest::Method::PUT, &group, json!({"scheduler": "fairshare"})).await, 201);
    let kernels = format!("{group}/kernels");
    let names: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    let reports = names.iter().map(|name| {
        let body = json!([kernel(name, name, "ml", "2026-01-13T09:00:00Z")]);
        send(reqwest::Method::POST, &kernels, body)
    });
    assert!(futures::future::join_all(reports).await.iter().all(|status| *status == 200));
    let given_up = names.iter().map(|_| {
        let patch = send(reqwest::Method::PATCH, "/resource-groups/none/scheduler-options", json!({}));
        tokio::time::timeout(Duration::from_millis(2), patch)
    });
    futures::future::join_all(given_up).await;
    assert_eq!(send(reqwest::Method::POST, "/jobs/aggregate/run", json!({})).await, 200);
    // Idle.
    let before = heartbeats(&db).await;
    until("a heartbeat", async || heartbeats(&db).await != before).await;
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let noise: Vec<String> = db
        .log()
        .into_iter()
        .filter(|line| line.contains("WARNING") || line.contains("transaction in progress"))
        .collect();
    assert_eq!(noise, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_command_is_no_trouble_for_the_server() {
    let db = postgres().await;
    run(&db, ["groups", "create", GROUP]).ok();
    run(&db, ["rank", GROUP]).ok();
    db.until_all_sessions_end().await;
    assert_eq!(db.log(), [""; 0]);
}
