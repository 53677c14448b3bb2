//! One run of `aggregate` in a busy cluster, against a bulk insert of only the rows that it records.

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::grown::{self, USERS as EARLIER};
use crate::common::twin::{RECORD_END, RECORDS, Twin};
use crate::common::{median, on_each, timed_async, world};
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "aggregate", figures: &[&TICK], run };

static TICK: Figure = Figure {
    name: "a tick with 50,000 running kernels of 5,000 users",
    floor: "bulk insert of its records",
    unit: Unit::Time,
    // Five times the limit for a run over 10,000 kernels. The floor has only the records, which are few bytes each; a run
    // also writes the buckets and the shares of 5,000 users.
    bars: &[Bar::Most(0.6)],
    on: FRESH_AND_GROWN,
};

const KERNELS: usize = 50_000;
const USERS: usize = 5_000;
const TICKS: usize = 7;
const _: () = assert!(USERS <= EARLIER, "all of them have a history in a grown database");

fn run() {
    on_each(TICK.on, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let store = cluster.service.store().clone();
    world::ingest(&cluster, &world::running(0..KERNELS, USERS)).await;
    let twin = Twin::full(&store, RECORDS).await;
    let (mut ticks, mut floors) = (Vec::new(), Vec::new());
    // The first run makes all buckets and does not count.
    for tick in 0..=TICKS {
        cluster.clock.advance_seconds(300);
        cluster.service.heartbeat().await.unwrap();
        let took = timed_async(async {
            assert_eq!(cluster.service.aggregate(GROUP).await.unwrap().kernels, KERNELS as u64);
        })
        .await;
        if tick > 0 {
            let now = cluster.service.clock().now().micros();
            let rows = twin.rows(&store, &format!("{RECORD_END} = {now}")).await;
            assert_eq!(rows.len(), KERNELS);
            floors.push(twin.insert(&store, &rows).await);
            ticks.push(took);
        }
    }
    TICK.took(on, median(ticks), Some(median(floors)));
}
