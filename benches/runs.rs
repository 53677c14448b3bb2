//! Runs of `aggregate` at 100,000 users with a week of buckets, after none, few or all of them have used
//! something. In a grown database 10,000 of them have four weeks of buckets.

use std::ops::Range;
use std::time::Duration;

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::{grown, median, on_each, timed_async, world};
use crate::support::fixture::{Fixture, GROUP};

pub const BENCH: Bench = Bench { name: "runs", figures: &[&NONE, &FEW, &ALL], run };

const fn of(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "", unit: Unit::Time, bars, on: FRESH_AND_GROWN }
}

static NONE: Figure = of("a run, 100,000 users with 7 days of buckets, nothing changed", &[Bar::Most(0.05)]);
static FEW: Figure = of("the same, 1 % of the users have used something", &[Bar::Most(0.05)]);
static ALL: Figure = of("the same, all users have used something", &[Bar::Most(4.0)]);

const USERS: usize = 100_000;
const DAYS: usize = 7;
const TIMES: usize = 5;
/// A run without changes is so short that with few repetitions the leftover work of earlier runs would be measured.
const IDLE_TIMES: usize = 51;

fn run() {
    on_each(FRESH_AND_GROWN, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let ended = world::over_days(0..USERS, USERS, cluster.service.clock().now(), DAYS, true);
    world::ingest(&cluster, &ended).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    NONE.took(on, ticks(&cluster, 0, IDLE_TIMES).await, None);
    let few = USERS / 100;
    start(&cluster, USERS..USERS + few).await;
    FEW.took(on, ticks(&cluster, few, TIMES).await, None);
    start(&cluster, USERS + few..2 * USERS).await;
    ALL.took(on, ticks(&cluster, USERS, TIMES).await, None);
}

/// Starts kernels that run from now on. The first run that records them makes buckets and does not count.
async fn start(cluster: &Fixture, kernels: Range<usize>) {
    world::ingest(cluster, &world::running_since(kernels, USERS, cluster.service.clock().now())).await;
    cluster.tick().await;
}

/// The median time of `count` runs over `kernels` kernels.
async fn ticks(cluster: &Fixture, kernels: usize, count: usize) -> Duration {
    let mut times = Vec::new();
    for _ in 0..count {
        cluster.clock.advance_seconds(300);
        cluster.service.heartbeat().await.unwrap();
        let work = async { assert_eq!(cluster.service.aggregate(GROUP).await.unwrap().kernels, kernels as u64) };
        times.push(timed_async(work).await);
    }
    median(times)
}
