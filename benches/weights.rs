//! Setting everybody's weight at once, against a bulk insert of the same share rows.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use common::twin::USER_SHARES;
use common::world::member;
use common::{Bar, block_on, median, row, timed_async, world};
use fairshared::domain::weight::Weight;
use fairshared::service::weights::{Target, WeightItem};
use support::database::{self, TestDb};
use support::fixture::{GROUP, admin};

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
    let mut times = Vec::new();
    for run in 0..5 {
        let items: Vec<WeightItem> = (0..USERS)
            .map(|n| WeightItem {
                target: Target::User(member(n).user, Some(member(n).project)),
                weight: Weight::from_ten_thousandths(1 + (n as i64 * 7_919 + run) % 90_000),
            })
            .collect();
        times.push(
            timed_async(async {
                cluster.service.put_weights(admin(), GROUP.to_owned(), items, None).await.unwrap();
            })
            .await,
        );
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
