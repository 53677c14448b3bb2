//! A day of finished kernels, from NDJSON over HTTP to buckets and factors, against bulk inserts of its kernels and records.

use std::time::Duration;

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::twin::{KERNELS, RECORDS, Twin};
use crate::common::{grown, median, on_each, timed_async, world};
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "day", figures: &[&DAY], run };

static DAY: Figure = Figure {
    name: "100,000 finished kernels of 10,000 users, NDJSON over HTTP, to buckets and factors",
    floor: "bulk insert of its kernels and records",
    unit: Unit::Time,
    bars: &[Bar::Most(4.0)],
    on: FRESH_AND_GROWN,
};

const COUNT: usize = 100_000;
const USERS: usize = 10_000;

fn run() {
    on_each(DAY.on, measure);
}

/// The median of three days, each in a database of its own.
async fn measure(on: On) {
    let (mut days, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (took, floor) = day(on).await;
        days.push(took);
        floors.push(floor);
    }
    DAY.took(on, median(days), Some(median(floors)));
}

async fn day(on: On) -> (Duration, Duration) {
    let cluster = world::cluster(grown::database(on).await).await;
    let store = cluster.service.store().clone();
    let twins = [Twin::full(&store, KERNELS).await, Twin::full(&store, RECORDS).await];
    let lines = world::finished(0..COUNT, USERS);
    let server = Server::start(&cluster).await;
    let took = timed_async(async {
        server.post("/kernels", "application/x-ndjson", lines.into()).await;
        assert_eq!(cluster.service.aggregate(GROUP).await.unwrap().kernels, COUNT as u64);
    })
    .await;
    let mut floor = Duration::ZERO;
    for twin in twins {
        let rows = twin.lacking(&store).await;
        floor += twin.insert(&store, &rows).await;
    }
    (took, floor)
}
