//! Ingest of NDJSON, against a bulk insert of the same rows.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use common::http::Server;
use common::twin::{CURSORS, KERNELS};
use common::{Bar, block_on, row, world};
use serde_json::Value;
use support::database::{self, TestDb};

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
    let lines = world::running(COUNT, USERS);
    let server = Server::start(&cluster).await;
    let (took, answer) = server.post("/kernels", "application/x-ndjson", lines.into()).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&COUNT.into(), &0.into()));
    let mut floor = std::time::Duration::ZERO;
    for table in [KERNELS, CURSORS] {
        table.create_twin(&store).await;
        let rows = table.rows(&store, "1 = 1").await;
        floor += table.insert(&store, &rows).await;
    }
    row(&format!("ingest: {COUNT} kernels, {USERS} new users, {database}"), took, Some(floor), Bar::Floors(2.5));
}
