//! Ranks over HTTP: all of them in one answer, and those of one user. The floors send as many prepared bytes.

use axum::Router;
use axum::routing::get;
use bytes::Bytes;

use crate::common::figure::{Bar, Bench, FRESH, Figure, On, Unit};
use crate::common::http::{Server, rates};
use crate::common::world::member;
use crate::common::{grown, median, on_each, world};
use crate::support::fixture::{Fixture, GROUP};

pub const BENCH: Bench = Bench { name: "ranking", figures: &[&WHOLE, &ONE], run };

static WHOLE: Figure = Figure {
    name: "the ranking of 10,000 users as one HTTP answer, written once for a snapshot",
    floor: "the same bytes, ready",
    unit: Unit::Time,
    bars: &[Bar::Most(0.04)],
    on: FRESH,
};

static ONE: Figure = Figure {
    name: "one user's fair-share status, 50 clients",
    floor: "a handler that answers the same bytes, ready",
    unit: Unit::PerSecond,
    bars: &[Bar::PartOfFloor(0.7)],
    on: FRESH,
};

const USERS: usize = 10_000;
const TIMES: usize = 50;
const CLIENTS: usize = 50;
/// Requests of each client in a round.
const EACH: usize = 400;

fn run() {
    on_each(FRESH, async |on| {
        let cluster = world::cluster(grown::fresh(on).await).await;
        world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        whole(on, &cluster).await;
        one(on, &cluster).await;
    });
}

async fn whole(on: On, cluster: &Fixture) {
    let server = Server::start(cluster).await;
    let mut times = Vec::new();
    let mut body = Bytes::new();
    for _ in 0..TIMES {
        let (time, answer) = server.get("/fair-share-status").await;
        times.push(time);
        body = answer;
    }
    let plain = ready("/ready", body).await;
    let mut floors = Vec::new();
    for _ in 0..TIMES {
        floors.push(plain.get("/ready").await.0);
    }
    WHOLE.took(on, median(times), Some(median(floors)));
}

async fn one(on: On, cluster: &Fixture) {
    let server = Server::start(cluster).await;
    let path = format!("/fair-share-status?user_uuid={}", member(USERS / 2).user);
    let (_, answer) = server.get(&path).await;
    let plain = ready("/fair-share-status", answer).await;
    let [measured, floor] = rates([&server, &plain], CLIENTS, EACH, async |client: &Server| {
        client.get(&path).await;
    });
    ONE.measured(on, measured, Some(floor));
}

/// A server that answers `body` and does nothing else.
pub async fn ready(path: &str, body: Bytes) -> Server {
    Server::of(Router::new().route(path, get(move || async move { body }))).await
}
