//! The whole ranking as one HTTP answer. The floor sends as many bytes that are ready already.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use axum::Router;
use axum::routing::get;
use common::http::Server;
use common::{Bar, block_on, median, row, world};
use support::database;
use support::fixture::GROUP;

const USERS: usize = 10_000;
const TIMES: usize = 50;

fn main() {
    block_on(async {
        let cluster = world::cluster(database::sqlite().await).await;
        world::ingest(&cluster, &world::finished(USERS, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        let server = Server::start(&cluster).await;
        let mut times = Vec::new();
        let mut body = bytes::Bytes::new();
        for _ in 0..TIMES {
            let (time, answer) = server.get("/fair-share-status").await;
            times.push(time);
            body = answer;
        }
        let ready = body.clone();
        let plain = Server::of(Router::new().route("/ready", get(move || async move { ready }))).await;
        let mut floors = Vec::new();
        for _ in 0..TIMES {
            floors.push(plain.get("/ready").await.0);
        }
        let name = format!("ranking: {USERS} users, {} KiB of JSON", body.len() >> 10);
        row(&name, median(times), Some(median(floors)), Bar::millis(30));
    });
}
