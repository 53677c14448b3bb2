//! Explanations: over HTTP, and the calculation alone for large groups.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairshared::domain::explain::comparison::{Candidate, Comparison};
use fairshared::domain::explain::future::{FutureKeys, UnrecordedHistories};
use fairshared::domain::explain::outlook::outlook;
use fairshared::domain::factor::Exponent;
use fairshared::domain::normalized_days::NormalizedBucket;
use fairshared::domain::options::FairShareOptions;
use fairshared::domain::time::Day;
use fairshared::domain::weight::{EffectiveWeight, Weight};

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, SQLITE, Unit};
use crate::common::http::Server;
use crate::common::world::member;
use crate::common::{block_on, median, world};
use crate::support::database;
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "explain", figures: &[&PAGE, &FIRST, &NEXT], run };

static PAGE: Figure = Figure {
    name: "why a user of 10,000 stands where it stands, over HTTP",
    floor: "one user's fair-share status",
    unit: Unit::Time,
    bars: &[Bar::Most(0.005)],
    on: SQLITE,
};

const fn of(name: &'static str, most: &'static [Bar]) -> Figure {
    Figure { name, floor: "sum of the same numbers as `f64`", unit: Unit::Time, bars: most, on: MEMORY }
}

static FIRST: Figure =
    of("the days to come of one of 100,000 users with 28 buckets each, first on a snapshot", &[Bar::Most(0.1)]);
static NEXT: Figure = of("the same of the next one", &[Bar::Most(0.02)]);

const USERS: usize = 10_000;
const TIMES: usize = 50;
const MANY: usize = 100_000;
const TODAY: Day = Day(20_466);

fn run() {
    page();
    alone();
}

fn page() {
    block_on(async {
        let cluster = world::cluster(database::sqlite().await).await;
        world::ingest(&cluster, &world::finished(0..4 * USERS, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        let server = Server::start(&cluster).await;
        let (mut times, mut floors) = (Vec::new(), Vec::new());
        for n in 0..TIMES {
            let user = member(n * USERS / TIMES).user;
            floors.push(server.get(&format!("/fair-share-status?user_uuid={user}")).await.0);
            times.push(server.get(&format!("/explain?user={user}")).await.0);
        }
        PAGE.took(On::Fresh(crate::common::figure::Database::Sqlite), median(times), Some(median(floors)));
    });
}

/// A comparison of users who all used something on each of the last 28 days.
fn contest() -> Comparison {
    let entrant = |n: usize| {
        let used = |day: i32| 1e-6 * ((n * 31 + 7 * day.unsigned_abs() as usize) % 977) as f64;
        let part = |age: i32| {
            let day = TODAY.plus(-age);
            NormalizedBucket { first: day, last: day, normalized: used(age) }
        };
        let normalized_days = (0..28).rev().map(part).collect();
        let weight = EffectiveWeight::single(Weight::ONE);
        Candidate { normalized_days, weight, exponent: Exponent::new(used(1), weight) }
    };
    Comparison { entrants: (0..MANY).map(entrant).collect(), outer: None }
}

fn alone() {
    let (contest, options) = (contest(), FairShareOptions::default());
    let explained = |future: &FutureKeys, number: usize| {
        let normalized_days = Arc::clone(&contest.entrants[number].normalized_days);
        let candidate_order = contest.now();
        (
            candidate_order.place(number),
            candidate_order.siblings_at(number),
            outlook(&contest, future, &UnrecordedHistories::default(), number, &normalized_days),
        )
    };
    let (mut first, mut next): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
    for n in 0..5 {
        let begun = Instant::now();
        let future = FutureKeys::of(&contest, &options, TODAY);
        std::hint::black_box(explained(&future, n));
        first.push(begun.elapsed());
        let begun = Instant::now();
        std::hint::black_box(explained(&future, MANY / 2 + n));
        next.push(begun.elapsed());
    }
    let numbers: Vec<f64> =
        contest.entrants.iter().flat_map(|e| e.normalized_days.iter().map(|bucket| bucket.normalized)).collect();
    let floor = crate::common::repeat(5, || numbers.iter().sum::<f64>());
    FIRST.took(On::Memory, median(first), Some(floor));
    NEXT.took(On::Memory, median(next), Some(floor));
}
