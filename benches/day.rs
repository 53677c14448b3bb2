//! A day of finished kernels, from NDJSON over HTTP to buckets and factors, against bulk inserts of its kernels and records.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use common::http::Server;
use common::twin::{KERNELS, RECORDS};
use common::{Bar, block_on, row, timed_async, world};
use support::database::{self, TestDb};
use support::fixture::GROUP;

const COUNT: usize = 100_000;
const USERS: usize = 10_000;

fn main() {
    block_on(async {
        measure("SQLite", database::sqlite().await).await;
        measure("PostgreSQL (fsync off)", database::postgres().await).await;
    });
}

async fn measure(database: &str, db: TestDb) {
    let cluster = world::cluster(db).await;
    let store = cluster.service.store().clone();
    let lines = world::finished(COUNT, USERS);
    let server = Server::start(&cluster).await;
    let took = timed_async(async {
        server.post("/kernels", "application/x-ndjson", lines.into()).await;
        assert_eq!(cluster.service.aggregate(GROUP).await.unwrap().kernels, COUNT as u64);
    })
    .await;
    let mut floor = std::time::Duration::ZERO;
    for table in [KERNELS, RECORDS] {
        table.create_twin(&store).await;
        let rows = table.rows(&store, "1 = 1").await;
        floor += table.insert(&store, &rows).await;
    }
    row(&format!("a day: {COUNT} finished kernels, {USERS} users, {database}"), took, Some(floor), Bar::millis(3_000));
}
