//! SIGKILL during compaction of records of closed days, and during purges of records and kernels.

use std::time::{Duration, Instant};

use fairshared::service::{Clock, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Client, draw, millionths};
use crate::cli::program::Server;
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, id, kernel, with};
use crate::support::on_both;

/// The size of the trial.
pub(super) struct Tried {
    pub(super) kernels: usize,
    /// The number of servers that are killed during each job.
    pub(super) kills: u64,
}

impl Tried {
    /// CPU-seconds of two days, each kernel with one CPU.
    pub(super) fn used(&self) -> u64 {
        self.kernels as u64 * 2 * 86_400
    }
}

/// Kernels that ran for two days with a run every two hours. Both days are closed by the clock of the servers that are
/// started.
pub(super) async fn some_days_ago(db: &TestDb, kernels: usize) {
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

pub(super) async fn assert_used(client: &Client, server: &str, cpu_seconds: u64) {
    let audit = client.get(server, &format!("/resource-groups/{GROUP}/audit")).await;
    assert_eq!(audit["ok"], json!(true), "{audit}");
    let buckets = client.all(server, &format!("/resource-groups/{GROUP}/usage-buckets/users")).await;
    let used: u64 = buckets.iter().map(|b| millionths(b["resource_usage"]["cpu"].as_str().unwrap())).sum();
    assert_eq!(used, cpu_seconds * 1_000_000);
}

/// Kills servers at some moment of a job, each over a copy of `db`, lets another server finish the job, and calls `look` on
/// the result. Returns the number of servers that were killed before the end of the job.
async fn kill(client: &Client, db: &TestDb, job: &str, tried: &Tried, look: impl AsyncFn(&str)) -> u64 {
    let whole = db.copy().await;
    let server = Server::over(&whole.url);
    let began = Instant::now();
    client.run_job(&server.address, job, GROUP).await;
    let takes = u64::try_from(began.elapsed().as_micros()).unwrap();
    server.kill();
    let (mut seed, mut in_progress) = (20_260_110, 0);
    for _ in 0..tried.kills {
        let copy = db.copy().await;
        let server = Server::over(&copy.url);
        let path = format!("/jobs/{job}/run");
        let asked = client.try_send(&server.address, Method::POST, &path, "{}".to_owned());
        // The moment of the fault, not a wait for anything.
        let moment = tokio::time::sleep(Duration::from_micros(draw(&mut seed, takes)));
        tokio::select! { _ = asked => {}, () = moment => in_progress += 1 }
        server.kill();
        let server = Server::over(&copy.url);
        client.run_job(&server.address, job, GROUP).await;
        assert_used(client, &server.address, tried.used()).await;
        look(&server.address).await;
        server.kill();
    }
    in_progress
}

async fn lives_through(db: TestDb, tried: Tried) {
    some_days_ago(&db, tried.kernels).await;
    let client = Client::new(&db);
    let slices = async |server: &str, n: usize| {
        let kernel = client.get(server, &format!("/resource-groups/{GROUP}/kernels/{}", id(&format!("k{n}")))).await;
        kernel["slices"].as_array().unwrap().clone()
    };
    let are_together = async |server: &str| {
        for n in [0, tried.kernels - 1] {
            let slices = slices(server, n).await;
            let is_whole =
                |slice: &Value| slice["compacted"] == json!(true) && slice["resource_usage"]["cpu"] == "86400";
            assert!(slices.len() == 2 && slices.iter().all(is_whole), "{slices:?}");
        }
    };
    let compacting = kill(&client, &db, "compact", &tried, &are_together).await;
    let server = Server::over(&db.url);
    client.run_job(&server.address, "compact", GROUP).await;
    let options = json!({"scheduler_opts": {"lookback_days": 1}}).to_string();
    let path = format!("/resource-groups/{GROUP}/scheduler-options");
    let (status, answer) = client.send(&server.address, Method::PATCH, &path, options).await;
    assert_eq!(status, 200, "{answer}");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let are_gone = async |server: &str| assert!(slices(server, 0).await.is_empty());
    let purging = kill(&client, &db, "purge", &tried, &are_gone).await;
    println!(
        "{} kernels: {compacting} of {kills} servers were killed in `compact`, {purging} of {kills} in `purge`; usage exact, \
         audits clean",
        tried.kernels,
        kills = tried.kills
    );
}

on_both! {
    async fn killed_while_records_are_put_together_and_purged(db: TestDb) {
        lives_through(db, Tried { kernels: 200, kills: 3 }).await;
    }

    #[ignore = "long"]
    async fn long_killed_while_records_are_put_together_and_purged(db: TestDb) {
        lives_through(db, Tried { kernels: 10_000, kills: 60 }).await;
    }
}
