//! Setting all users' weights at once, against a bulk insert of the same share rows.

use serde_json::{Value, json};

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::twin::{Twin, USER_SHARES};
use crate::common::world::member;
use crate::common::{grown, median, on_each, world};
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "weights", figures: &[&ALL], run };

static ALL: Figure = Figure {
    name: "10,000 weights in one PUT, ranks included",
    floor: "bulk insert of as many shares",
    unit: Unit::Time,
    bars: &[Bar::Most(1.0)],
    on: FRESH_AND_GROWN,
};

const USERS: usize = 10_000;

fn run() {
    on_each(ALL.on, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let store = cluster.service.store().clone();
    world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
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
    // All these rows exist already, so a twin with them could not insert them again.
    let twin = Twin::of_another_group(&store, USER_SHARES).await;
    let rows = twin.lacking(&store).await;
    let floor = twin.insert(&store, &rows).await;
    ALL.took(on, median(times), Some(floor));
}
