//! SIGKILL while records of closed days are put together, and while records and kernels are purged.

use std::time::Duration;

use fairshared::service::input::clock::{Clock, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Client, draw, millionths};
use crate::cli::program::Server;
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, id, kernel, with};
use crate::support::on_both;

/// How hard it is tried.
struct Tried {
    kernels: usize,
    /// How many servers are killed during each job.
    kills: u64,
    /// Each is killed at some moment within so many microseconds.
    within: u64,
}

impl Tried {
    /// CPU-seconds of two days, each kernel with one CPU.
    fn used(&self) -> u64 {
        self.kernels as u64 * 2 * 86_400
    }
}

/// Kernels that ran for two days with a run every two hours. Both days are closed by the clock of the servers that come.
async fn some_days_ago(db: &TestDb, kernels: usize) {
    let start = SystemClock.now().day().plus(-6).start();
    let end = start.day().plus(2).start().to_string();
    let start = start.to_string();
    let f = Fixture::new(TestDb::at(db.url.clone()), &start).await;
    f.options(&json!({"lookback_days": 3650})).await;
    let rows: Vec<Value> =
        (0..kernels).map(|n| kernel(&format!("k{n}"), &format!("u{}", n % 20), "ml", &start)).collect();
    f.ingest(&rows).await;
    for _ in 0..23 {
        f.clock.advance_seconds(7_200);
        f.tick().await;
    }
    f.clock.advance_seconds(7_200);
    let ended = json!({"status": "TERMINATED", "terminated_at": end});
    f.ingest(&rows.into_iter().map(|row| with(row, &ended)).collect::<Vec<_>>()).await;
    f.tick().await;
    f.service.store().clone().close().await.unwrap();
}

/// Asks servers for a job, and kills each of them at some moment. Tells how many had not ended the job by then.
async fn kill(client: &Client, db: &TestDb, job: &str, tried: &Tried) -> u64 {
    let (mut seed, mut in_progress) = (20_260_110, 0);
    for _ in 0..tried.kills {
        let server = Server::over(&db.url);
        let path = format!("/jobs/{job}/run");
        let asked = client.try_send(&server.address, Method::POST, &path, "{}".to_owned());
        // The moment of the fault, not a wait for anything.
        let moment = tokio::time::sleep(Duration::from_micros(draw(&mut seed, tried.within)));
        tokio::select! { _ = asked => {}, () = moment => in_progress += 1 }
        server.kill();
    }
    in_progress
}

async fn assert_used(client: &Client, server: &str, cpu_seconds: u64) {
    let audit = client.get(server, &format!("/resource-groups/{GROUP}/audit")).await;
    assert_eq!(audit["ok"], json!(true), "{audit}");
    let buckets = client.all(server, &format!("/resource-groups/{GROUP}/usage-buckets/users")).await;
    let used: u64 = buckets.iter().map(|b| millionths(b["resource_usage"]["cpu"].as_str().unwrap())).sum();
    assert_eq!(used, cpu_seconds * 1_000_000);
}

async fn lives_through(db: TestDb, tried: Tried) {
    some_days_ago(&db, tried.kernels).await;
    let client = Client::new(&db);
    let compacting = kill(&client, &db, "compact", &tried).await;
    let server = Server::over(&db.url);
    client.run_job(&server.address, "compact", GROUP).await;
    assert_used(&client, &server.address, tried.used()).await;
    for n in [0, tried.kernels - 1] {
        let path = format!("/resource-groups/{GROUP}/kernels/{}", id(&format!("k{n}")));
        let kernel = client.get(&server.address, &path).await;
        let slices: Vec<&Value> = kernel["slices"].as_array().unwrap().iter().collect();
        assert_eq!(slices.len(), 2, "{kernel}");
        assert!(
            slices.iter().all(|slice| slice["compacted"] == json!(true) && slice["resource_usage"]["cpu"] == "86400")
        );
    }
    let options = json!({"scheduler_opts": {"lookback_days": 1}}).to_string();
    let path = format!("/resource-groups/{GROUP}/scheduler-options");
    let (status, answer) = client.send(&server.address, Method::PATCH, &path, options).await;
    assert_eq!(status, 200, "{answer}");
    server.kill();
    let purging = kill(&client, &db, "purge", &tried).await;
    let server = Server::over(&db.url);
    client.run_job(&server.address, "purge", GROUP).await;
    assert_used(&client, &server.address, tried.used()).await;
    let kernel = client.get(&server.address, &format!("/resource-groups/{GROUP}/kernels/{}", id("k0"))).await;
    assert_eq!(kernel["slices"], json!([]));
    server.kill();
    println!(
        "{} kernels: {compacting} of {kills} servers were killed in `compact`, {purging} of {kills} in `purge`; usage exact, \
         audits clean",
        tried.kernels,
        kills = tried.kills
    );
}

on_both! {
    async fn killed_while_records_are_put_together_and_purged(db: TestDb) {
        lives_through(db, Tried { kernels: 200, kills: 6, within: 250_000 }).await;
    }

    #[ignore = "long"]
    async fn long_killed_while_records_are_put_together_and_purged(db: TestDb) {
        lives_through(db, Tried { kernels: 10_000, kills: 60, within: 1_500_000 }).await;
    }
}
