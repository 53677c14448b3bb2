//! Two servers on one database, one of which is killed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairshared::domain::time::Day;
use fairshared::service::{Clock, SystemClock};
use reqwest::Method;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Client, GROUPS, SummaryInput, group, groups, kernels};
use crate::cli::program::Server;
use crate::support::database::{TestDb, postgres};
use crate::support::fixture::{Fixture, kernel};
use crate::support::on_both;

/// Another process shows a change after this time at the latest.
const SOON: Duration = Duration::from_secs(10);

impl Client {
    /// Polls until both servers answer alike and as wanted.
    async fn until_seen(&self, server: &str, path: &str, wanted: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        loop {
            let (_, answer) = self.send(server, Method::GET, path, String::new()).await;
            if wanted(&answer) {
                return;
            }
            assert!(begun.elapsed() < SOON, "{path}: {answer}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Reports to one server, with jobs in between. Returns the acknowledged reports.
async fn work(client: Arc<Client>, server: String, rounds: u64, story: SummaryInput) -> BTreeSet<(u64, u64)> {
    let mut acknowledged = BTreeSet::new();
    for round in 0..rounds {
        for of in 0..GROUPS {
            let path = format!("/resource-groups/{}/kernels", group(of));
            let answer = client.send_until_free(&server, Method::POST, &path, kernels(round, of, story)).await;
            if matches!(answer, Ok((200, _))) {
                acknowledged.insert((round, of));
            }
        }
        let body = json!({"resource_group": group(round)}).to_string();
        let job = ["aggregate", "rebuild", "divide"][usize::try_from(round % 3).unwrap()];
        let path = format!("/jobs/{job}/run");
        if let Ok((status, answer)) = client.send_until_free(&server, Method::POST, &path, body).await {
            assert!(status == 200 || answer["code"] == "job_running", "{status} {answer}");
        }
    }
    acknowledged
}

/// Fails if two runs of one job and group overlapped.
fn assert_apart(runs: &[Value]) {
    let text = |run: &Value, key: &str| run[key].as_str().unwrap_or_default().to_owned();
    let mut ended: Vec<_> = runs.iter().filter(|run| run["status"] == "succeeded").collect();
    ended.sort_by_key(|run| (text(run, "job"), text(run, "resource_group"), run["id"].as_i64()));
    for pair in ended.windows(2) {
        if (&pair[0]["job"], &pair[0]["resource_group"]) == (&pair[1]["job"], &pair[1]["resource_group"]) {
            let at = |run: &Value, key: &str| crate::support::time(&text(run, key));
            assert!(at(pair[0], "ended_at") <= at(pair[1], "started_at"), "{} {}", pair[0], pair[1]);
        }
    }
}

on_both! {
    async fn two_servers_on_one_database(db: TestDb) {
        const ROUNDS: u64 = 9;
        let client = Arc::new(Client::new(&db));
        let (first, second) = (Server::over(&db.url), Server::over(&db.url));
        client.put_groups(&first.address).await;
        for group in groups() {
            let path = format!("/resource-groups/{group}");
            client.until_seen(&second.address, &path, |answer| answer["name"] == group).await;
        }
        let began = SystemClock.now().plus_micros(-2 * 3_600_000_000);
        let (before, after) = (SummaryInput { began, over: false }, SummaryInput { began, over: true });
        // Both get the same reports at the same time.
        let mut tasks = JoinSet::new();
        for server in [&first, &second] {
            tasks.spawn(work(Arc::clone(&client), server.address.clone(), ROUNDS, before));
        }
        for acknowledged in tasks.join_all().await {
            assert_eq!(acknowledged.len() as u64, ROUNDS * GROUPS, "{acknowledged:?}");
        }
        let weight = json!({"items": [{"target_type": "domain", "target_id": "d0", "weight": "3"}]}).to_string();
        let path = format!("/resource-groups/{}/fair-share-weights", group(0));
        let (status, answer) = client.send(&first.address, Method::PUT, &path, weight).await;
        assert_eq!(status, 200, "{answer}");
        client.until_seen(&second.address, &path, |answer| {
            answer["items"].as_array().is_some_and(|items| items.iter().any(|i| i["target_id"] == "d0" && i["weight"] == "3"))
        }).await;

        // One of them dies in the middle of the rest.
        let mut tasks = JoinSet::new();
        for server in [&first, &second] {
            tasks.spawn(work(Arc::clone(&client), server.address.clone(), ROUNDS + 3, after));
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        first.kill();
        tasks.join_all().await;
        client.report(&second.address, ROUNDS + 3, after).await;
        for group in groups() {
            client.run_job(&second.address, "aggregate", &group).await;
        }
        client.assert_exact(&second.address, ROUNDS + 3).await;
        let runs = client.all(&second.address, "/job-runs").await;
        assert_apart(&runs);
        // The open runs of the dead server are closed without another start.
        let begun = Instant::now();
        while client.runs(&second.address).await.contains_key("running") {
            assert!(begun.elapsed() < Duration::from_secs(30));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Another program moves the records of a day out of its partition, which no run creates again.
#[expect(clippy::disallowed_methods, reason = "what another program does")]
async fn take_partition(db: &TestDb, day: Day) {
    let store = db.store().await;
    let partition = format!("usage_slices_day_{}", day.0);
    for sql in [
        format!("ALTER TABLE usage_slices DETACH PARTITION {partition}"),
        format!("INSERT INTO usage_slices_other SELECT * FROM {partition}"),
        format!("DROP TABLE {partition}"),
    ] {
        store.write().execute_unprepared(&sql).await.unwrap();
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_server_tells_of_records_without_a_partition() {
    let db = postgres().await;
    let first = SystemClock.now().day().plus(-3);
    let f = Fixture::new(TestDb::at(db.url.clone()), &first.start().to_string()).await;
    f.ingest(&[kernel("k1", "ann", "ml", &first.start().to_string())]).await;
    for _ in 0..3 {
        f.clock.advance_seconds(86_400 - 60);
        f.tick().await;
    }
    f.service.store().clone().close().await.unwrap();
    take_partition(&db, first.plus(1)).await;
    let client = Client::new(&db);
    for server in [Server::over(&db.url), Server::over(&db.url)] {
        let told = |answer: &Value| {
            let mut reasons = answer["reasons"].as_array().into_iter().flatten();
            reasons.any(|reason| reason["code"] == "records_without_partition")
        };
        client.until_seen(&server.address, "/readyz", told).await;
        let metrics = client.http.get(format!("{}/metrics", server.address)).bearer_auth(&client.key);
        let metrics = metrics.send().await.unwrap().text().await.unwrap();
        let line = metrics.lines().find(|line| line.starts_with("fairshared_stray_records ")).unwrap();
        assert!(!line.ends_with(" 0"), "{line}");
    }
}
