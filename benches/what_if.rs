//! Simulations of another half-life, which calculate the usage of all owners again, against that calculation without a copy.

use std::time::Duration;

use bytes::Bytes;

use crate::common::figure::{Bar, Bench, Figure, On, SQLITE, Unit};
use crate::common::{block_on, median, timed_async, world};
use crate::factors;
use crate::support::database;
use crate::support::fixture::{GROUP, admin};

pub const BENCH: Bench = Bench { name: "what_if", figures: &[&SMALL, &LARGE], run };

const fn of(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "factors and ranks of as many users in place", unit: Unit::Time, bars, on: SQLITE }
}

static SMALL: Figure = of("simulation of another half-life, 10,000 users, 28 days", &[Bar::Most(0.06)]);
static LARGE: Figure = of("the same with 100,000 users", &[Bar::Most(0.6)]);

const ON: On = SQLITE[0];
const DAYS: usize = 28;

fn run() {
    for (figure, users, times) in [(&SMALL, 10_000, 20), (&LARGE, 100_000, 5)] {
        let measured = block_on(measure(users, times));
        let (floor, _) = factors::measure(users, times);
        figure.took(ON, measured, Some(floor));
    }
}

async fn measure(users: usize, times: usize) -> Duration {
    let cluster = world::cluster(database::sqlite().await).await;
    let now = cluster.service.clock().now();
    world::ingest(&cluster, &world::over_days(0..users, users, now, DAYS, false)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let ask = Bytes::from_static(br#"{"scheduler_opts": {"half_life_days": 14}, "limit": 100}"#);
    let mut taken = Vec::new();
    for _ in 0..times {
        let simulated = cluster.service.simulate_fair_shares(admin(), GROUP.to_owned(), ask.clone());
        taken.push(timed_async(async { simulated.await.unwrap().into_answer() }).await);
    }
    median(taken)
}
