//! The times of a scheduler's sequence and of a health probe, while other keys send the most expensive requests that their
//! roles allow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairshared::service::{Clock, SystemClock};
use futures::future::join_all;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::common::figure::{Bar, Bench, FRESH, Figure, On, Unit};
use crate::common::program::{Program, key, key_of};
use crate::common::{grown, on_each, percentile, world};
use crate::support::database::TestDb;
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "crowd", figures: &[&SEQUENCE, &HEALTH], run };

static SEQUENCE: Figure = Figure {
    name: "p99 of a sequence of 1,000 workloads while 16 clients ask the dearest requests of viewers and users, 100,000 users",
    floor: "the same without them",
    unit: Unit::Time,
    bars: &[Bar::Most(0.06)],
    on: FRESH,
};

static HEALTH: Figure = Figure {
    name: "the longest of as many answers of `/healthz` meanwhile",
    floor: "the same without them",
    unit: Unit::Time,
    bars: &[Bar::Most(0.1)],
    on: FRESH,
};

const USERS: usize = 100_000;
const DAYS: usize = 7;
const WORKLOADS: usize = 1_000;
const CLIENTS: usize = 16;
/// Requests of each kind that are measured.
const MEASURED: usize = 500;

fn run() {
    on_each(FRESH, measure);
}

async fn measure(on: On) {
    let db = grown::fresh(on).await;
    let now = SystemClock.now();
    let cluster = world::cluster_at(TestDb::at(db.url.clone()), &now.to_string()).await;
    world::ingest(&cluster, &world::over_days(0..USERS, USERS, now, DAYS, false)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    cluster.service.store().clone().close().await.unwrap();
    drop(cluster);
    let user = world::member(1).user.to_string();
    let keys = [key_of(&db.url, &["--role", "viewer"]), key_of(&db.url, &["--role", "user", "--user", &user])];
    let (admin, server) = (key(&db.url), Program::serve(&db.url));
    let [sequences, healths] = ask_urgently(&server, &admin).await;
    let alone = (percentile(sequences, 99), percentile(healths, 100));
    let stop = Arc::new(AtomicBool::new(false));
    let crowd: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (url, key, stop) = (server.address.clone(), keys[number % keys.len()].clone(), Arc::clone(&stop));
            tokio::spawn(async move { ask_dearly(&url, &key, number, &stop).await })
        })
        .collect();
    // The crowd is complete when each of its clients has sent every request once.
    let [sequences, healths] = ask_urgently(&server, &admin).await;
    stop.store(true, Ordering::Relaxed);
    let answered: usize = join_all(crowd).await.into_iter().map(Result::unwrap).sum();
    assert!(answered > 0, "no dear request was answered");
    SEQUENCE.took(on, percentile(sequences, 99), Some(alone.0));
    HEALTH.took(on, percentile(healths, 100), Some(alone.1));
}

/// The times of sequences and of health answers, in turn.
async fn ask_urgently(server: &Program, admin: &str) -> [Vec<Duration>; 2] {
    let workload = |number: usize| {
        let member = world::member(number);
        json!({"workload_id": format!("w{number}"), "user_uuid": member.user, "project_id": member.project})
    };
    let body = json!({"workloads": (0..WORKLOADS).map(workload).collect::<Vec<_>>()});
    let client = Client::new();
    let sequence = format!("{}/resource-groups/{GROUP}/sequence", server.address);
    let health = format!("{}/healthz", server.address);
    let (mut sequences, mut healths) = (Vec::new(), Vec::new());
    for _ in 0..MEASURED {
        sequences.push(time(client.post(&sequence).bearer_auth(admin).json(&body)).await);
        healths.push(time(client.get(&health)).await);
    }
    [sequences, healths]
}

async fn time(request: RequestBuilder) -> Duration {
    let start = Instant::now();
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    answer.bytes().await.unwrap();
    start.elapsed()
}

/// Sends one expensive request after the other until `stop` is set. Returns the number of answers.
async fn ask_dearly(url: &str, key: &str, number: usize, stop: &AtomicBool) -> usize {
    let client = Client::new();
    let group = format!("{url}/resource-groups/{GROUP}");
    let mut answered = 0;
    for round in number.. {
        for request in dear_requests(&client, url, &group, round) {
            if stop.load(Ordering::Relaxed) {
                return answered;
            }
            let answer = request.bearer_auth(key).send().await.unwrap();
            // A request that is refused, because of the role or because of its size, counts as well.
            answered += usize::from(answer.bytes().await.is_ok());
        }
    }
    answered
}

/// The most expensive request of each kind. `round` makes filters that no earlier request had.
fn dear_requests(client: &Client, url: &str, group: &str, round: usize) -> Vec<RequestBuilder> {
    let list = |at: usize| {
        format!(
            "a{at}: user_fair_shares(resource_group: {GROUP:?}, first: 1, filter: {{user_name: {{contains: \"q{}\"}}}}) \
             {{ count }}",
            (round + at) % 20
        )
    };
    let lists = (0..300).map(list).collect::<Vec<_>>().join(" ");
    let queues: Vec<Value> = (0..2_000).map(|n| json!({"name": format!("q{n}"), "request": {"cpu": n + 1}})).collect();
    let simulation = json!({"algorithm": "drf", "capacity": {"cpu": 100_000}, "queues": queues});
    let get = |path: String| client.get(path).header("accept-encoding", "gzip");
    vec![
        client.post(format!("{url}/graphql")).json(&json!({"query": format!("{{ {lists} }}")})),
        get(format!("{group}/fair-share-status")),
        get(format!("{group}/fairness?tier=user&window=7d")),
        get(format!("{group}/fair-share-status?limit=1000")),
        get(format!("{url}/users?search={round}")),
        get(format!("{group}/usage-report?from=2000-01-01&to=2100-01-01&by=user,day")),
        get(format!("{group}/fair-share-weights")),
        get(format!("{group}/configuration")),
        get(format!("{group}/audit")),
        get(format!("{url}/metrics")),
        get(format!("{url}/doctor")),
        get(format!("{group}/kernels?limit=1000")),
        get(format!("{group}/fair-share-history?tier=user&search={round}")),
        client.post(format!("{url}/division/simulate")).json(&simulation),
    ]
}
