//! Pages of long lists: their slowest requests, and the SQL statements that each takes.
//! The floor sends an answer of the server that needs no list at all.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Duration;

use common::http::Server;
use common::{Bar, block_on, percentile, row, world};
use serde_json::Value;
use support::database::{self, TestDb};
use support::fixture::GROUP;

const USERS: usize = 100_000;
const PAGES: usize = 200;
const MOST_STATEMENTS: u64 = 6;

fn main() {
    block_on(async {
        measure("SQLite", database::sqlite().await).await;
        measure("PostgreSQL (fsync off)", database::postgres().await).await;
    });
}

async fn measure(database: &str, db: TestDb) {
    let cluster = world::cluster(db).await;
    world::ingest(&cluster, &world::finished(USERS, USERS)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let server = Server::start(&cluster).await;
    let mut floors = Vec::new();
    for _ in 0..PAGES {
        floors.push(server.get("/scheduler-options").await.0);
    }
    let floor = percentile(floors, 99);
    for list in ["/fair-share-status?limit=100", "/usage-buckets/users?limit=100", "/kernels?limit=100"] {
        let (times, statements) = pages(&cluster, &server, list).await;
        let name = format!("p99 of {list}, {USERS} users, {database}");
        row(&name, percentile(times, 99), Some(floor), Bar::millis(50));
        let ok = if statements <= MOST_STATEMENTS { "yes" } else { "NO" };
        println!("{:<58} | {statements} statements, bar {MOST_STATEMENTS} | {ok}", "");
    }
}

/// Goes through a list; the times of its pages and the statements of the worst.
async fn pages(cluster: &support::fixture::Fixture, server: &Server, list: &str) -> (Vec<Duration>, u64) {
    let store = cluster.service.store();
    let (mut times, mut most) = (Vec::new(), 0);
    let mut cursor = String::new();
    for _ in 0..PAGES {
        let before = store.statements();
        let (time, body) = server.get(&format!("{list}{cursor}")).await;
        times.push(time);
        most = most.max(store.statements() - before);
        let page: Value = serde_json::from_slice(&body).unwrap();
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => cursor.clear(),
        }
    }
    (times, most)
}
