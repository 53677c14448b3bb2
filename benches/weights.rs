//! Setting all users' weights at once, against a bulk insert of the same share rows.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use common::http::Server;
use common::twin::USER_SHARES;
use common::world::member;
use common::{Bar, block_on, median, row, world};
use serde_json::{Value, json};
use support::database::{self, TestDb};
use support::fixture::GROUP;

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
    world::ingest(&cluster, &world::finished(USERS, USERS)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let server = Server::start(&cluster).await;
    let mut times = Vec::new();
    for run in 0..5 {
        let items: Vec<Value> = (0..USERS)
            .map(|n| {
                let owner = member(n);
                let weight = format!("{}.{:04}", 1 + (n * 7_919 + run) % 9, n % 10_000);
                json!({
                    "target_type": "user", "target_id": owner.user, "project_id": owner.project, "weight": weight,
                })
            })
            .collect();
        let body = json!({"items": items}).to_string();
        times.push(server.put("/fair-share-weights", body.into()).await.0);
    }
    USER_SHARES.create_twin(&store).await;
    let rows = USER_SHARES.rows(&store, "1 = 1").await;
    let floor = USER_SHARES.insert(&store, &rows).await;
    row(
        &format!("weights: {USERS} in one write, ranks included, {database}"),
        median(times),
        Some(floor),
        Bar::millis(1_000),
    );
}
