//! Reads of the current division over HTTP while nothing changes, and right after kernels have changed.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::json;

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::{grown, on_each, percentile, world};
use crate::support::fixture::{GROUP, admin};

pub const BENCH: Bench = Bench { name: "queues", figures: &[&READ, &CHANGED], run };

const fn read(name: &'static str) -> Figure {
    Figure { name, floor: "the same bytes, ready", unit: Unit::Time, bars: &[Bar::Most(0.01)], on: FRESH_AND_GROWN }
}

static READ: Figure = read("p99 of `GET division`, 510 queues, 10,000 kernels");
static CHANGED: Figure = read("p99 of `GET division` just after a change, 510 queues, 10,000 kernels");

const QUEUES: usize = 500;
const KERNELS: usize = 10_000;
const READS: usize = 300;

fn run() {
    on_each(FRESH_AND_GROWN, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    world::ingest(&cluster, &world::running(0..KERNELS, KERNELS)).await;
    let server = Server::start(&cluster).await;
    // One queue for each project, below one for each domain.
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
    READ.took(on, p99(&server, async || ()).await, Some(floor));
    let line = world::running(0..1, 1);
    let changed = async || {
        let batch = [world::changed(&line)];
        cluster.service.ingest(&admin(), GROUP, batch.into()).await.unwrap();
    };
    CHANGED.took(on, p99(&server, changed).await, Some(floor));
}

async fn p99(server: &Server, before: impl AsyncFn()) -> Duration {
    let mut times = Vec::new();
    for _ in 0..READS {
        before().await;
        times.push(server.get("/division").await.0);
    }
    percentile(times, 99)
}
