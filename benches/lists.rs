//! Pages of long lists: the slowest requests, and the SQL statements of each.

use std::time::Duration;

use serde_json::Value;

use crate::common::figure::{Bar, Bench, FRESH, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::{grown, on_each, percentile, world};
use crate::support::fixture::{Fixture, GROUP};

pub const BENCH: Bench =
    Bench { name: "lists", figures: &[&RANKING, &RANKING_SQL, &BUCKETS, &BUCKETS_SQL, &KERNELS, &KERNELS_SQL], run };

/// The figure of the slowest pages.
const fn slowest(name: &'static str) -> Figure {
    let floor = "p99 of a small answer of the server";
    Figure { name, floor, unit: Unit::Time, bars: &[Bar::Most(0.05)], on: FRESH }
}

/// The figure of the most statements for a page.
const fn statements(name: &'static str) -> Figure {
    Figure { name, floor: "", unit: Unit::Statements, bars: &[Bar::Most(6.0)], on: FRESH }
}

static RANKING: Figure = slowest("p99 of pages of the ranking, 100,000 users");
static RANKING_SQL: Figure = statements("the same, SQL of a page");
static BUCKETS: Figure = slowest("p99 of pages of the users' buckets, 100,000 users");
static BUCKETS_SQL: Figure = statements("the same of users' buckets, SQL of a page");
static KERNELS: Figure = slowest("p99 of pages of the kernels, 100,000 kernels");
static KERNELS_SQL: Figure = statements("the same of kernels, SQL of a page");

const LISTS: [(&str, &Figure, &Figure); 3] = [
    ("/fair-share-status?limit=100", &RANKING, &RANKING_SQL),
    ("/usage-buckets/users?limit=100", &BUCKETS, &BUCKETS_SQL),
    ("/kernels?limit=100", &KERNELS, &KERNELS_SQL),
];
const USERS: usize = 100_000;
const PAGES: usize = 200;

fn run() {
    on_each(FRESH, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let server = Server::start(&cluster).await;
    let mut floors = Vec::new();
    for _ in 0..PAGES {
        floors.push(server.get("/scheduler-options").await.0);
    }
    let floor = percentile(floors, 99);
    for (list, slowest, statements) in LISTS {
        let (times, most) = pages(&cluster, &server, list).await;
        slowest.took(on, percentile(times, 99), Some(floor));
        statements.measured(on, most as f64, None);
    }
}

/// Reads a list to its end. Returns the times of its pages and the most statements of one.
async fn pages(cluster: &Fixture, server: &Server, list: &str) -> (Vec<Duration>, u64) {
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
