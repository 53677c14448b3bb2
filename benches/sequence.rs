//! Ordering pending workloads from published state. The floor of the engine sorts the bare keys; that of
//! the requests during a run is the same requests without one.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use bytes::Bytes;

use common::http::Server;
use common::world::member;
use common::{Bar, block_on, median, percentile, repeat, row, world};
use fairshared::domain::decimal::Amount;
use fairshared::domain::division::score_weights::ScoreWeights;
use fairshared::domain::division::{Grid, Tree};
use fairshared::domain::factor::Exponent;
use fairshared::domain::queues::QueueSpec;
use fairshared::domain::sequencer::{GroupShares, MemberShare, QueueClaims, Sequencer, Workload};
use fairshared::domain::slots::{Amounts, SlotName};
use fairshared::domain::weight::{EffectiveWeight, Weight};
use serde_json::{Value, json};
use support::database::{self, TestDb};
use support::fixture::GROUP;
use support::postgres;
use support::proxy::{Mode, Proxy};

const WORKLOADS: usize = 320_000;
const USERS: usize = 10_000;
const QUEUES: usize = 2_000;

fn main() {
    engine();
    block_on(async {
        over_http().await;
        during_aggregation().await;
        without_a_database().await;
    });
}

/// `count` pending workloads as a scheduler sends them.
fn request(count: usize) -> Bytes {
    let workloads: Vec<Value> = (0..count)
        .map(|n| {
            let owner = member(n * 31 % USERS);
            let submitted_at = format!("2026-01-13T0{}:{:02}:{:02}Z", n % 10, n / 10 % 60, n / 600 % 60);
            json!({
                "workload_id": format!("workload-{n}"), "user_uuid": owner.user, "project_id": owner.project,
                "submitted_at": submitted_at,
            })
        })
        .collect();
    json!({"workloads": workloads}).to_string().into()
}

async fn over_http() {
    let cluster = world::cluster(database::sqlite().await).await;
    world::ingest(&cluster, &world::finished(USERS, USERS)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let server = Server::start(&cluster).await;
    let body = request(WORKLOADS);
    let (mut times, mut answer) = (Vec::new(), Bytes::new());
    for _ in 0..5 {
        let (time, bytes) = server.post("/sequence", "application/json", body.clone()).await;
        times.push(time);
        answer = bytes;
    }
    // The floor sends the same bytes both ways without reading them.
    let ready = answer.clone();
    let echo = post(move |_: Bytes| async move { ready }).layer(DefaultBodyLimit::disable());
    let plain = Server::of(Router::new().route("/sequence", echo)).await;
    let mut floors = Vec::new();
    for _ in 0..5 {
        floors.push(plain.post("/sequence", "application/json", body.clone()).await.0);
    }
    let name = format!("sequence over HTTP: {WORKLOADS} workloads");
    row(&name, median(times), Some(median(floors)), Bar::millis(1_000));
}

/// Small requests while one run follows the other.
async fn during_aggregation() {
    let databases = [("SQLite", database::sqlite().await), ("PostgreSQL (fsync off)", database::postgres().await)];
    for (database, db) in databases {
        let cluster = Arc::new(world::cluster(db).await);
        world::ingest(&cluster, &world::running(50_000, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        let server = Server::start(&cluster).await;
        let floor = requests(&server, 500).await;
        let runs = tokio::spawn({
            let cluster = Arc::clone(&cluster);
            async move {
                loop {
                    cluster.clock.advance_seconds(300);
                    cluster.service.aggregate(GROUP).await.unwrap();
                }
            }
        });
        let busy = requests(&server, 1_000).await;
        runs.abort();
        let name = format!("p99 of 1000 workloads while aggregating, {database}");
        row(&name, busy, Some(floor), Bar::millis(5));
    }
}

/// The same requests while the database does not answer; the floor is while it does.
async fn without_a_database() {
    let db = database::postgres().await;
    let proxy = Proxy::before(postgres::socket()).await;
    let cluster = world::cluster(TestDb::at(proxy.url(db.postgres_name().unwrap()))).await;
    world::ingest(&cluster, &world::finished(USERS, USERS)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let server = Server::start(&cluster).await;
    let upkeep = tokio::spawn(Arc::clone(&cluster.service).keep_up());
    let floor = requests(&server, 1_000).await;
    proxy.set(Mode::Blackhole);
    while cluster.service.data_age().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let away = requests(&server, 1_000).await;
    assert!(cluster.service.data_age().is_some());
    upkeep.abort();
    row("p99 of 1000 workloads while PostgreSQL is away", away, Some(floor), Bar::Floors(2.0));
}

/// The slow end of so many requests by a client that shares no thread with the server, nor its priority.
async fn requests(server: &Server, count: usize) -> Duration {
    let server = server.of_another_client();
    let client = async move {
        let body = request(1_000);
        let mut times = Vec::new();
        for _ in 0..count {
            times.push(server.post("/sequence", "application/json", body.clone()).await.0);
        }
        percentile(times, 99)
    };
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        done.send(alone.block_on(client)).unwrap();
    });
    result.await.unwrap()
}

fn engine() {
    let mut standings = GroupShares::default();
    for n in 0..USERS {
        let used = (n * 7_919 % USERS) as f64 / USERS as f64;
        let exponent = Exponent::new(used, EffectiveWeight::single(Weight::ONE));
        let standing = MemberShare { exponent, fair_share_factor: "0.5".into(), rank: 1 };
        standings.members.insert(member(n), standing);
    }
    let start = support::time(common::world::START);
    let workloads: Vec<Workload> = (0..WORKLOADS)
        .map(|n| Workload {
            id: Cow::Owned(format!("workload-{n}")),
            owner: member(n * 31 % USERS),
            submitted_at: Some(start.plus_micros(world::seconds(n * 7_919 % 100_000) / 1_000)),
            priority: 0,
        })
        .collect();
    let floor = repeat(10, || {
        let mut keys: Vec<(u64, u32)> =
            workloads.iter().zip(0u32..).map(|(w, at)| (w.owner.user.0.as_u64_pair().0, at)).collect();
        keys.sort_unstable();
        keys
    });
    for name in ["fairshare", "fifo", "drf"] {
        let sequencer = Sequencer::by_name(name).unwrap_or_else(|| panic!("no sequencer {name}"));
        let measured = repeat(10, || sequencer.order(&workloads, &standings));
        row(&format!("sequence engine, {name}: {WORKLOADS} workloads"), measured, Some(floor), Bar::millis(60));
    }
    turns(&workloads, &standings, floor);
}

/// Queues that take turns; all of them are siblings, no two alike.
fn turns(workloads: &[Workload], standings: &GroupShares, floor: Duration) {
    let slot = |name: &str| SlotName::new(name).unwrap_or_else(|| panic!("no slot {name}"));
    let slots = [slot("cpu"), slot("mem")];
    let amounts = |counts: [usize; 2]| -> Amounts {
        slots.iter().copied().zip(counts.map(|count| Amount::whole(count as u64))).collect()
    };
    let specs = (0..QUEUES).map(|n| QueueSpec::named(format!("queue-{n}")));
    let mut tree =
        Tree::build(&specs.collect::<Vec<_>>(), &amounts([1_000_000; 2])).unwrap_or_else(|e| panic!("{e:?}"));
    let mut fair_share = Grid::new(tree.len(), 2, Amount::ZERO);
    for n in 0..QUEUES {
        for column in 0..2 {
            let place = n + column * 31;
            fair_share[(n, column)] = Amount::whole(1 + place as u64 * 7_919 % 1_000);
            tree.allocated[(n, column)] = Amount::whole(place as u64 * 6_007 % 200);
        }
    }
    let queue: Vec<usize> = (0..workloads.len()).map(|n| n * 31 % QUEUES).collect();
    let requests: Vec<Amounts> = (0..workloads.len()).map(|n| amounts([1 + n % 8, 1 + n % 7])).collect();
    let score_weights = ScoreWeights::default();
    let claims = QueueClaims {
        tree: &tree,
        fair_share: &fair_share,
        score_weights: &score_weights,
        queue: &queue,
        requests: &requests,
    };
    for name in ["saturation", "score"] {
        let sequencer = Sequencer::by_name(name).unwrap_or_else(|| panic!("no sequencer {name}"));
        let measured = repeat(5, || sequencer.order_by_turns(workloads, standings, &claims));
        let name = format!("sequence engine, {name}: {WORKLOADS} over {QUEUES} queues");
        row(&name, measured, Some(floor), Bar::millis(1_000));
    }
}
