//! Memory of the real program: servers with many users and kernels, and imports of files of two lengths; each is the median
//! of three.

use std::time::Duration;

use fairshared::service::{Clock, SystemClock};
use reqwest::{Client, RequestBuilder};

use crate::common::figure::{Bar, Bench, FRESH, Figure, On, Unit};
use crate::common::program::{Program, cost, import, key, program};
use crate::common::{grown, jobs_file, median_of_three, on_each, world};
use crate::support::database::TestDb;
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "memory", figures: &[&SERVER, &PEAK, &LARGE, &IMPORT], run };

/// The figure of a server's size.
const fn server(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "the server, idle", unit: Unit::Mebibytes, bars, on: FRESH }
}

static SERVER: Figure = server(
    "resident size of the server with 10,000 users and 10,000 running kernels, 15 s after runs and writes by another process",
    &[Bar::Most(130.0)],
);
static PEAK: Figure = server("the largest size of that server", &[]);
static LARGE: Figure = server(
    "resident size of the server with 100,000 users, 100,000 running kernels and 28 days of buckets, 15 s after runs",
    &[Bar::Most(900.0)],
);

static IMPORT: Figure = Figure {
    name: "the largest resident size of an import of 800,000 rows",
    floor: "the same of 200,000 rows",
    unit: Unit::Mebibytes,
    bars: &[Bar::Floors(1.2)],
    on: FRESH,
};

const KERNELS: usize = 10_000;
const MANY: usize = 100_000;
const DAYS: usize = 28;
/// After this idle time, buffers are freed.
const QUIET: Duration = Duration::from_secs(15);

fn run() {
    on_each(FRESH, async |on| {
        serving(on).await;
        serving_many(on).await;
        importing(on).await;
    });
}

async fn importing(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let peak = async |rows: usize| {
        let file = jobs_file::write(folder.path(), rows);
        median_of_three(async || import(&grown::fresh(on).await.url, &file).peak).await
    };
    let floor = peak(jobs_file::SHORT).await;
    IMPORT.measured(on, peak(jobs_file::LONG).await, Some(floor));
}

/// A server over `db` after three runs and three rankings.
async fn asked(db: &TestDb, lines: Option<String>) -> (f64, Program, Client, String) {
    let idle = Program::serve(&db.url).peak();
    let (key, server, client) = (key(&db.url), Program::serve(&db.url), Client::new());
    let group = format!("{}/resource-groups/{GROUP}", server.address);
    send(&key, client.put(&group).json(&serde_json::json!({}))).await;
    if let Some(lines) = lines {
        let ingest = client.post(format!("{group}/kernels")).header("content-type", "application/x-ndjson");
        send(&key, ingest.body(lines)).await;
    }
    for _ in 0..3 {
        aggregate(&key, &client, &server).await;
        send(&key, client.get(format!("{group}/fair-share-status?limit=1000"))).await;
    }
    (idle, server, client, key)
}

/// Requests a run until one has succeeded, waiting for one that is in progress or waits for its turn.
async fn aggregate(key: &str, client: &Client, server: &Program) {
    let run = || client.post(format!("{}/jobs/aggregate/run", server.address)).bearer_auth(key).send();
    loop {
        let answer = run().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        if status.is_success() {
            return;
        }
        assert!(text.contains("job_waiting") || text.contains("job_running"), "{status} {text}");
    }
}

async fn send(key: &str, request: RequestBuilder) {
    let answer = request.bearer_auth(key).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

async fn serving(on: On) {
    let db = grown::fresh(on).await;
    // The server uses the machine's clock, for which kernels that began at the bench's own time would have run for very
    // long.
    let lines = world::running_since(0..KERNELS, KERNELS, SystemClock.now());
    let (idle, server, ..) = asked(&db, Some(lines)).await;
    // Another process writes data that this one has to read again.
    let user = world::member(1).user.to_string();
    for weight in ["2", "3", "4"] {
        let project = world::member(1).project.to_string();
        let mut set = program(&db.url);
        set.args(["weights", "set", GROUP, "user", &user, "--project", &project, weight]);
        cost(&mut set);
    }
    PEAK.measured(on, server.peak(), Some(idle));
    tokio::time::sleep(QUIET).await;
    SERVER.measured(on, server.resident(), Some(idle));
}

/// The history is made in this process, up to the machine's time.
async fn serving_many(on: On) {
    let db = grown::fresh(on).await;
    let now = SystemClock.now();
    let cluster = world::cluster_at(TestDb::at(db.url.clone()), &now.to_string()).await;
    world::ingest(&cluster, &world::over_days(0..MANY, MANY, now, DAYS, false)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    cluster.service.store().clone().close().await.unwrap();
    drop(cluster);
    let (idle, server, ..) = asked(&db, None).await;
    tokio::time::sleep(QUIET).await;
    LARGE.measured(on, server.resident(), Some(idle));
}
