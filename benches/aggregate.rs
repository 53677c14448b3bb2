//! One `aggregate` tick of a busy cluster, against a bulk insert of just the rows it records.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use common::twin::{RECORDS, len};
use common::{Bar, block_on, median, row, timed_async, world};
use support::database::{self, TestDb};
use support::fixture::GROUP;

const KERNELS: usize = 50_000;
const USERS: usize = 5_000;
const TICKS: usize = 7;

fn main() {
    block_on(async {
        measure("SQLite", database::sqlite().await).await;
        measure("PostgreSQL (fsync off)", database::postgres().await).await;
    });
}

async fn measure(database: &str, db: TestDb) {
    let cluster = world::cluster(db).await;
    let store = cluster.service.store().clone();
    world::ingest(&cluster, &world::running(KERNELS, USERS)).await;
    RECORDS.create_twin(&store).await;
    let (mut ticks, mut floors) = (Vec::new(), Vec::new());
    // The first tick makes all buckets and does not count.
    for tick in 0..=TICKS {
        let since = cluster.service.clock().now();
        cluster.clock.advance_seconds(300);
        cluster.service.heartbeat().await.unwrap();
        let took = timed_async(async {
            assert_eq!(cluster.service.aggregate(GROUP).await.unwrap().kernels, KERNELS as u64);
        })
        .await;
        if tick > 0 {
            let rows = RECORDS.rows(&store, &format!("period_start = {}", since.micros())).await;
            assert_eq!(len(&rows[0]), KERNELS);
            floors.push(RECORDS.insert(&store, &rows).await);
            ticks.push(took);
        }
    }
    let name = format!("aggregate: {KERNELS} running, {USERS} users, {database}");
    row(&name, median(ticks), Some(median(floors)), Bar::Floors(2.5));
}
