//! Memory of the real program: servers with many users and kernels, and an import of files of two lengths.

use std::time::Duration;

use fairshared::service::{Clock, SystemClock};
use reqwest::{Client, RequestBuilder};

use crate::common::figure::{Bar, Bench, Figure, On, SQLITE, Unit};
use crate::common::program::{Program, cost, key, program};
use crate::common::{block_on, jobs_file, world};
use crate::support::database::{self, TestDb};
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "memory", figures: &[&SERVER, &PEAK, &LARGE, &IMPORT], run };

const ON: On = SQLITE[0];

/// The size of a server.
const fn server(name: &'static str, bars: &'static [Bar]) -> Figure {
    Figure { name, floor: "the server, idle", unit: Unit::Mebibytes, bars, on: SQLITE }
}

static SERVER: Figure = server(
    "resident size of the server with 10,000 users and 10,000 running kernels, 15 s after runs and writes by another process",
    &[Bar::Most(80.0)],
);
static PEAK: Figure = server("the largest size of that server", &[]);
static LARGE: Figure = server(
    "resident size of the server with 100,000 users, 100,000 running kernels and 28 days of buckets, 15 s after runs",
    &[Bar::Most(400.0)],
);

static IMPORT: Figure = Figure {
    name: "the largest resident size of an import of 800,000 rows",
    floor: "the same of 200,000 rows",
    unit: Unit::Mebibytes,
    bars: &[Bar::Floors(1.1)],
    on: SQLITE,
};

const KERNELS: usize = 10_000;
const MANY: usize = 100_000;
const DAYS: usize = 28;
/// Buffers go back to the system when nothing has happened for a while.
const QUIET: Duration = Duration::from_secs(15);

fn run() {
    block_on(async {
        serving().await;
        serving_many().await;
    });
    let folder = tempfile::tempdir().unwrap();
    let peak = |rows: usize| {
        let (file, db) = (jobs_file::write(folder.path(), rows), database::sqlite_unmigrated());
        cost(program(&db.url).args(["import", "csv"]).arg(file)).peak
    };
    let floor = peak(jobs_file::SHORT);
    IMPORT.measured(ON, peak(jobs_file::LONG), Some(floor));
}

/// A server over `db` that is asked for three runs and three rankings.
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

/// Asks for a run until it is done; one that is in progress, or that waits for its turn, is waited for.
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

async fn serving() {
    let db = database::sqlite_unmigrated();
    // The server's clock is the machine's: kernels that started in the bench's own time would have run for ages.
    let lines = world::running_since(0..KERNELS, KERNELS, SystemClock.now());
    let (idle, server, ..) = asked(&db, Some(lines)).await;
    // Another process writes what this one has to read again.
    let user = world::member(1).user.to_string();
    for weight in ["2", "3", "4"] {
        let project = world::member(1).project.to_string();
        let mut set = program(&db.url);
        set.args(["weights", "set", GROUP, "user", &user, "--project", &project, weight]);
        cost(&mut set);
    }
    PEAK.measured(ON, server.peak(), Some(idle));
    tokio::time::sleep(QUIET).await;
    SERVER.measured(ON, server.resident(), Some(idle));
}

/// The history is made in this process, as of the machine's time.
async fn serving_many() {
    let db = database::sqlite().await;
    let now = SystemClock.now();
    let cluster = world::cluster_at(TestDb::at(db.url.clone()), &now.to_string()).await;
    world::ingest(&cluster, &world::over_days(0..MANY, MANY, now, DAYS, false)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    cluster.service.store().clone().close().await.unwrap();
    drop(cluster);
    let (idle, server, ..) = asked(&db, None).await;
    tokio::time::sleep(QUIET).await;
    LARGE.measured(ON, server.resident(), Some(idle));
}
