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

const KERNELS: usize = 200;
/// CPU-seconds of two days, each kernel with one CPU.
const USED: u64 = KERNELS as u64 * 2 * 86_400;
/// A server that is killed at some moment within so many microseconds.
const WITHIN: u64 = 250_000;

/// Kernels that ran for two days with a run every two hours. Both days are closed by the clock of the servers that come.
async fn some_days_ago(db: &TestDb) {
    let start = SystemClock.now().day().plus(-6).start();
    let end = start.day().plus(2).start().to_string();
    let start = start.to_string();
    let f = Fixture::new(TestDb::at(db.url.clone()), &start).await;
    f.options(&json!({"lookback_days": 3650})).await;
    let rows: Vec<Value> =
        (0..KERNELS).map(|n| kernel(&format!("k{n}"), &format!("u{}", n % 20), "ml", &start)).collect();
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

/// Asks servers for a job, and kills each of them at some moment.
async fn kill(client: &Client, db: &TestDb, job: &str, kills: u64) {
    let mut seed = 20_260_110;
    for _ in 0..kills {
        let server = Server::over(&db.url);
        let path = format!("/jobs/{job}/run");
        let asked = client.try_send(&server.address, Method::POST, &path, "{}".to_owned());
        // The moment of the fault, not a wait for anything.
        let moment = tokio::time::sleep(Duration::from_micros(draw(&mut seed, WITHIN)));
        tokio::select! { _ = asked => {}, () = moment => {} }
        server.kill();
    }
}

async fn assert_used(client: &Client, server: &str) {
    let audit = client.get(server, &format!("/resource-groups/{GROUP}/audit")).await;
    assert_eq!(audit["ok"], json!(true), "{audit}");
    let buckets = client.all(server, &format!("/resource-groups/{GROUP}/usage-buckets/users")).await;
    let used: u64 = buckets.iter().map(|b| millionths(b["resource_usage"]["cpu"].as_str().unwrap())).sum();
    assert_eq!(used, USED * 1_000_000);
}

async fn lives_through(db: TestDb, kills: u64) {
    some_days_ago(&db).await;
    let client = Client::new(&db);
    kill(&client, &db, "compact", kills).await;
    let server = Server::over(&db.url);
    client.run_job(&server.address, "compact", GROUP).await;
    assert_used(&client, &server.address).await;
    for n in [0, KERNELS - 1] {
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
    kill(&client, &db, "purge", kills).await;
    let server = Server::over(&db.url);
    client.run_job(&server.address, "purge", GROUP).await;
    assert_used(&client, &server.address).await;
    let kernel = client.get(&server.address, &format!("/resource-groups/{GROUP}/kernels/{}", id("k0"))).await;
    assert_eq!(kernel["slices"], json!([]));
    server.kill();
}

on_both! {
    async fn killed_while_records_are_put_together_and_purged(db: TestDb) {
        lives_through(db, 6).await;
    }

    #[ignore = "long"]
    async fn long_killed_while_records_are_put_together_and_purged(db: TestDb) {
        lives_through(db, 60).await;
    }
}
