//! What it costs that a commit on SQLite waits for the disk, against one that does not.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Duration;

use common::http::Server;
use common::{Bar, block_on, median, row, world};
use fairshared::store::Synchronous;
use support::database;

const REPORTS: usize = 500;
const COUNT: usize = 100_000;
const USERS: usize = 10_000;

fn main() {
    block_on(async {
        let (normal, full) = (figures(Synchronous::Normal).await, figures(Synchronous::Full).await);
        row("sqlite_synchronous: a report of one kernel, median", full.report, Some(normal.report), Bar::millis(20));
        row(&format!("sqlite_synchronous: {COUNT} kernels as NDJSON"), full.bulk, Some(normal.bulk), Bar::Floors(1.5));
    });
}

struct Figures {
    report: Duration,
    bulk: Duration,
}

async fn figures(synchronous: Synchronous) -> Figures {
    let cluster = world::cluster(database::sqlite().await.with(synchronous)).await;
    let server = Server::start(&cluster).await;
    let (bulk, _) = server.post("/kernels", "application/x-ndjson", world::running(COUNT, USERS).into()).await;
    let mut reports = Vec::with_capacity(REPORTS);
    for line in world::finished(REPORTS, USERS).lines() {
        reports.push(server.post("/kernels", "application/x-ndjson", line.to_owned().into()).await.0);
    }
    Figures { report: median(reports), bulk }
}
