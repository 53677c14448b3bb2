//! Sequences of pending workloads from snapshots.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use bytes::Bytes;
use fairshared::api::sequence::SequenceRequest;
use fairshared::domain::decimal::Amount;
use fairshared::domain::division::score_weights::ScoreWeights;
use fairshared::domain::division::{QueueSlotGrid, QueueTree};
use fairshared::domain::factor::Exponent;
use fairshared::domain::ids::{Member, ProjectId};
use fairshared::domain::options::FairshareOrder;
use fairshared::domain::queues::QueueSpec;
use fairshared::domain::sequencer::progressive::{self, UsageAccount, UsageAccounts, UsageCharge};
use fairshared::domain::sequencer::{QueueClaims, SequenceWorkload, Sequencer, ShareLookup};
use fairshared::domain::slots::{SlotAmounts, SlotName};
use fairshared::domain::weight::{EffectiveWeight, Weight};
use fairshared::service::input::json::read;
use serde_json::{Value, json};

use crate::common::figure::{Bar, Bench, FRESH, Figure, MEMORY, On, POSTGRES, Unit};
use crate::common::http::{Server, rates};
use crate::common::world::member;
use crate::common::{block_on, grown, median, percentile, repeat, world};
use crate::standings::GivenStandings;
use crate::support::database::{self, TestDb};
use crate::support::fixture::{Fixture, GROUP};
use crate::support::proxy::{Mode, Proxy};
use crate::support::{self, postgres};

pub const BENCH: Bench = Bench {
    name: "sequence",
    figures: &[
        &FAIRSHARE,
        &FIFO,
        &DRF,
        &SATURATION,
        &SCORE,
        &PROGRESSIVE,
        &IN_TIERS,
        &OVER_HTTP,
        &PROGRESSIVE_OVER_HTTP,
        &RATE,
        &BUSY,
        &PROGRESSIVE_BUSY,
        &AWAY,
    ],
    run,
};

/// The figure of workloads ordered by the engine alone.
const fn engine_of(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "sort of as many bare keys", unit: Unit::Time, bars, on: MEMORY }
}

static FAIRSHARE: Figure = engine_of("`fairshare`, 320,000 workloads of 10,000 users, engine alone", ORDERED);
static FIFO: Figure = engine_of("`fifo`, 320,000 workloads of 10,000 users, engine alone", ORDERED);
static DRF: Figure = engine_of("`drf`, 320,000 workloads of 10,000 users, engine alone", ORDERED);
static SATURATION: Figure = engine_of("`saturation`, 320,000 workloads in 2,000 sibling queues, engine alone", IN_TURN);
static SCORE: Figure = engine_of("`score`, 320,000 workloads in 2,000 sibling queues, engine alone", IN_TURN);
const ORDERED: &[Bar] = &[Bar::Most(0.06)];
const IN_TURN: &[Bar] = &[Bar::Most(1.0)];

/// The figure of workloads charged one by one, by the engine alone.
const fn charged_one_by_one(name: &'static str) -> Figure {
    let bars = &[Bar::Most(0.15), Bar::Floors(3.0)];
    Figure { name, floor: "the plain order of the same", unit: Unit::Time, bars, on: MEMORY }
}

static PROGRESSIVE: Figure =
    charged_one_by_one("progressive `fairshare`, 320,000 workloads of 10,000 users, engine alone");
static IN_TIERS: Figure =
    charged_one_by_one("progressive `fairshare` in tiers, 320,000 workloads of 10,000 users, engine alone");

static PROGRESSIVE_OVER_HTTP: Figure = Figure {
    name: "the same in progressive mode",
    floor: "the same in plain mode",
    unit: Unit::Time,
    bars: &[Bar::Most(1.0)],
    on: FRESH,
};

static PROGRESSIVE_BUSY: Figure = Figure {
    name: "p99 of 1,000 workloads over HTTP in progressive mode while 50,000 kernels run",
    floor: "the same in plain mode",
    unit: Unit::Time,
    bars: &[Bar::Most(0.008)],
    on: FRESH,
};

static OVER_HTTP: Figure = Figure {
    name: "320,000 workloads of 10,000 users over HTTP, JSON both ways",
    floor: "the same bytes both ways, unread",
    unit: Unit::Time,
    bars: &[Bar::Most(0.6)],
    on: FRESH,
};

static RATE: Figure = Figure {
    name: "sequences of 1,000 workloads, 50 clients",
    floor: "a handler that parses the same body and answers the same bytes",
    unit: Unit::PerSecond,
    bars: &[Bar::PartOfFloor(0.6)],
    on: FRESH,
};

static BUSY: Figure = Figure {
    name: "p99 of 1,000 workloads over HTTP while `aggregate` runs",
    floor: "the same without a run",
    unit: Unit::Time,
    bars: &[Bar::Most(0.005)],
    on: FRESH,
};

static AWAY: Figure = Figure {
    name: "p99 of 1,000 workloads over HTTP while PostgreSQL is away",
    floor: "the same while it answers",
    unit: Unit::Time,
    bars: &[Bar::Floors(2.0)],
    on: POSTGRES,
};

const WORKLOADS: usize = 320_000;
const USERS: usize = 10_000;
const QUEUES: usize = 2_000;
/// Repetitions of the sequence of all workloads.
const WHOLE_TIMES: usize = 7;
const CLIENTS: usize = 50;
/// Requests of each client in a round.
const EACH: usize = 100;
/// Requests while runs follow each other. The p99 of only 1,000 depends on ten of them, and varied by half from run to run.
const BESIDE_RUNS: usize = 6_000;

fn run() {
    engine();
    block_on(async {
        over_http().await;
        during_aggregation().await;
        without_a_database().await;
    });
}

/// `count` pending workloads as a scheduler sends them.
fn request(count: usize, mode: &str) -> Bytes {
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
    json!({"workloads": workloads, "mode": mode}).to_string().into()
}

async fn over_http() {
    for on in FRESH {
        let cluster = world::cluster(grown::fresh(*on).await).await;
        world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        whole_queue(*on, &cluster).await;
        many_clients(*on, &cluster).await;
    }
}

async fn whole_queue(on: On, cluster: &Fixture) {
    let server = Server::start(cluster).await;
    let bodies = [request(WORKLOADS, "plain"), request(WORKLOADS, "progressive")];
    let (mut times, mut answer) = ([Vec::new(), Vec::new()], Bytes::new());
    // In turn, so that both run at the same speed of the machine.
    for _ in 0..WHOLE_TIMES {
        for (body, times) in bodies.iter().zip(&mut times).rev() {
            let took;
            (took, answer) = server.post("/sequence", "application/json", body.clone()).await;
            times.push(took);
        }
    }
    let [plain_time, progressive_time] = times.map(median);
    let [body, _] = bodies;
    // The floor sends the same bytes both ways without parsing them.
    let ready = answer.clone();
    let echo = post(move |_: Bytes| async move { ready }).layer(DefaultBodyLimit::disable());
    let plain = Server::of(Router::new().route("/sequence", echo)).await;
    let mut floors = Vec::new();
    for _ in 0..WHOLE_TIMES {
        floors.push(plain.post("/sequence", "application/json", body.clone()).await.0);
    }
    OVER_HTTP.took(on, plain_time, Some(median(floors)));
    PROGRESSIVE_OVER_HTTP.took(on, progressive_time, Some(plain_time));
}

/// Many small requests, against a server that reads them and does nothing else.
async fn many_clients(on: On, cluster: &Fixture) {
    let server = Server::start(cluster).await;
    let body = request(1_000, "plain");
    let (_, ready) = server.post("/sequence", "application/json", body.clone()).await;
    let reads = post(move |body: Bytes| async move {
        assert_eq!(read::<SequenceRequest>(&body).unwrap().workloads.map_or(0, |workloads| workloads.len()), 1_000);
        ready
    });
    let plain = Server::of(Router::new().route("/sequence", reads)).await;
    let [measured, floor] = rates([&server, &plain], CLIENTS, EACH, async |client: &Server| {
        client.post("/sequence", "application/json", body.clone()).await;
    });
    RATE.measured(on, measured, Some(floor));
}

/// Small requests while runs follow each other.
async fn during_aggregation() {
    for on in FRESH {
        let cluster = Arc::new(world::cluster(grown::database(*on).await).await);
        world::ingest(&cluster, &world::running(0..50_000, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        let server = Server::start(&cluster).await;
        let floor = requests(&server, 1_000, "plain").await;
        PROGRESSIVE_BUSY.took(*on, requests(&server, 1_000, "progressive").await, Some(floor));
        let runs = tokio::spawn({
            let cluster = Arc::clone(&cluster);
            async move {
                loop {
                    cluster.clock.advance_seconds(300);
                    cluster.service.aggregate(GROUP).await.unwrap();
                }
            }
        });
        let busy = requests(&server, BESIDE_RUNS, "plain").await;
        runs.abort();
        BUSY.took(*on, busy, Some(floor));
    }
}

/// The same requests while the database does not answer; the floor is with a database that answers.
async fn without_a_database() {
    let db = database::postgres().await;
    let proxy = Proxy::before(postgres::socket()).await;
    let cluster = world::cluster(TestDb::at(proxy.url(db.postgres_name().unwrap()))).await;
    world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let server = Server::start(&cluster).await;
    let upkeep = tokio::spawn(Arc::clone(&cluster.service).keep_up());
    let floor = requests(&server, 1_000, "plain").await;
    proxy.set(Mode::Blackhole);
    while cluster.service.data_age().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let away = requests(&server, 1_000, "plain").await;
    assert!(cluster.service.data_age().is_some());
    upkeep.abort();
    AWAY.took(POSTGRES[0], away, Some(floor));
}

/// A high percentile of the times of `count` requests by a client that shares no thread with the server.
async fn requests(server: &Server, count: usize, mode: &'static str) -> Duration {
    let server = server.of_another_client();
    let client = async move {
        let body = request(1_000, mode);
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
    let mut standings = GivenStandings::default();
    for n in 0..USERS {
        let used = (n * 7_919 % USERS) as f64 / USERS as f64;
        let exponent = Exponent::new(used, EffectiveWeight::single(Weight::ONE));
        standings.exponents.insert(member(n), exponent);
    }
    let start = support::time(world::START);
    let workloads: Vec<SequenceWorkload> = (0..WORKLOADS)
        .map(|n| SequenceWorkload {
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
    for (name, figure) in [("fairshare", &FAIRSHARE), ("fifo", &FIFO), ("drf", &DRF)] {
        let sequencer = Sequencer::by_name(name).unwrap_or_else(|| panic!("no sequencer {name}"));
        let measured = repeat(10, || sequencer.order(&workloads, &standings));
        figure.took(On::Memory, measured, Some(floor));
    }
    turns(&workloads, &standings, floor);
    charged(&workloads, &standings);
}

/// Accounts in which all users have used something and every workload costs a little.
struct Used<'a>(&'a GivenStandings);

impl UsageAccounts for Used<'_> {
    fn user(&self, member: Member) -> UsageAccount {
        let used = self.0.exponents.get(&member).map_or(0.0, |exponent| exponent.sort_key() as f64 / 1e22);
        account(used)
    }

    fn project(&self, _: ProjectId) -> UsageAccount {
        account(0.1)
    }

    fn domain(&self, project: ProjectId) -> (Option<Arc<str>>, UsageAccount) {
        (Some(Arc::from(if project.0.as_u128().is_multiple_of(2) { "even" } else { "odd" })), account(0.2))
    }
}

fn account(normalized_usage: f64) -> UsageAccount {
    UsageAccount { normalized_usage, charged: UsageCharge::ZERO, weight: EffectiveWeight::single(Weight::ONE) }
}

fn charged(workloads: &[SequenceWorkload], standings: &GivenStandings) {
    let fairshare = Sequencer::by_name("fairshare").unwrap_or_else(|| panic!("no fairshare"));
    let floor = repeat(10, || fairshare.order(workloads, standings));
    let charges: Vec<UsageCharge> = (0..workloads.len()).map(|n| UsageCharge::of((1 + n % 7) as f64 / 1e6)).collect();
    for (order, figure) in [(FairshareOrder::Flat, &PROGRESSIVE), (FairshareOrder::Tiered, &IN_TIERS)] {
        let measured = repeat(10, || {
            let workloads = progressive::by_owner(workloads);
            progressive::order(order, &workloads, &charges, &Used(standings), usize::MAX)
        });
        figure.took(On::Memory, measured, Some(floor));
    }
}

/// Queues that take turns; all of them are siblings, and no two are alike.
fn turns(workloads: &[SequenceWorkload], standings: &dyn ShareLookup, floor: Duration) {
    let slot = |name: &str| SlotName::new(name).unwrap_or_else(|| panic!("no slot {name}"));
    let slots = [slot("cpu"), slot("mem")];
    let amounts = |counts: [usize; 2]| -> SlotAmounts {
        slots.iter().copied().zip(counts.map(|count| Amount::whole(count as u64))).collect()
    };
    let specs = (0..QUEUES).map(|n| QueueSpec::named(format!("queue-{n}")));
    let mut tree =
        QueueTree::build(&specs.collect::<Vec<_>>(), &amounts([1_000_000; 2])).unwrap_or_else(|e| panic!("{e:?}"));
    let mut fair_share = QueueSlotGrid::new(tree.len(), 2, Amount::ZERO);
    for n in 0..QUEUES {
        for column in 0..2 {
            let place = n + column * 31;
            fair_share[(n, column)] = Amount::whole(1 + place as u64 * 7_919 % 1_000);
            tree.allocated[(n, column)] = Amount::whole(place as u64 * 6_007 % 200);
        }
    }
    let queue: Vec<usize> = (0..workloads.len()).map(|n| n * 31 % QUEUES).collect();
    let requests: Vec<SlotAmounts> = (0..workloads.len()).map(|n| amounts([1 + n % 8, 1 + n % 7])).collect();
    let score_weights = ScoreWeights::default();
    let claims = QueueClaims {
        tree: &tree,
        fair_share: &fair_share,
        score_weights: &score_weights,
        queue: &queue,
        requests: &requests,
    };
    for (name, figure) in [("saturation", &SATURATION), ("score", &SCORE)] {
        let sequencer = Sequencer::by_name(name).unwrap_or_else(|| panic!("no sequencer {name}"));
        let measured = repeat(5, || sequencer.order_by_turns(workloads, standings, &claims));
        figure.took(On::Memory, measured, Some(floor));
    }
}
