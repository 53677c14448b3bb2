//! Reads of the live division over HTTP while nothing changes, and just after kernels have changed.
//! The floor sends the same bytes without making them.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use common::http::Server;
use common::{Bar, block_on, percentile, row, world};
use serde_json::json;
use support::database;
use support::fixture::GROUP;

const QUEUES: usize = 500;
const KERNELS: usize = 10_000;
const READS: usize = 300;

fn main() {
    block_on(async {
        let cluster = world::cluster(database::sqlite().await).await;
        world::ingest(&cluster, &world::running(KERNELS, KERNELS)).await;
        let server = Server::start(&cluster).await;
        // One for each project, in one for each domain.
        let mut queues: Vec<_> =
            (0..world::DOMAINS).map(|d| json!({"name": world::domain_name(d), "quota": {"cpu": "50000"}})).collect();
        queues.extend((0..QUEUES).map(|n| {
            let project = world::member(n).project.to_string();
            json!({"name": project, "parent": world::domain_name(n), "quota": {"cpu": "100", "cuda.device": "10"}})
        }));
        server.put("/queues", json!({"queues": queues}).to_string().into()).await;
        let (_, answer) = server.get("/division").await;
        let ready = Router::new().route("/division", get(move || async move { answer }));
        let plain = Server::of(ready).await;
        let floor = p99(&plain, async || ()).await;
        let name = format!("division read: {QUEUES} queues, {KERNELS} kernels, p99");
        row(&name, p99(&server, async || ()).await, Some(floor), Bar::millis(10));
        let line = world::running(1, 1);
        let changed = async || {
            let batch = [world::changed(&line)];
            cluster.service.ingest(&support::fixture::admin(), GROUP, batch.into()).await.unwrap();
        };
        row(&format!("{name}, each after a change"), p99(&server, changed).await, Some(floor), Bar::millis(10));
    });
}

async fn p99(server: &Server, before: impl AsyncFn()) -> Duration {
    let mut times = Vec::new();
    for _ in 0..READS {
        before().await;
        times.push(server.get("/division").await.0);
    }
    percentile(times, 99)
}
