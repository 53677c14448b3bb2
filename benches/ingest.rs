//! Ingest of NDJSON, against a bulk insert of the same rows; many clients with one kernel each, against one with arrays.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use common::http::Server;
use common::twin::{CURSORS, KERNELS};
use common::{Bar, block_on, percentile, repeat, row, timed_async, world};
use fairshared::domain::reading::read_from;
use fairshared::service::ingest::incoming::KernelInput;
use fairshared::service::input::json;
use serde_json::Value;
use support::database::{self, TestDb};

const COUNT: usize = 100_000;
const USERS: usize = 10_000;

fn main() {
    reading();
    block_on(async {
        measure("SQLite", database::sqlite().await).await;
        measure("PostgreSQL (fsync off)", database::postgres().await).await;
        many_clients("SQLite", database::sqlite().await).await;
        many_clients("PostgreSQL (fsync off)", database::postgres().await).await;
    });
}

/// Rows as they are read while they are right, against the reader that finds out what is wrong with one: it could do both, and
/// `service/input/objects.rs` could go.
fn reading() {
    let lines = world::running(COUNT, USERS);
    let all = |read: &dyn Fn(&str) -> bool| repeat(3, || assert!(lines.lines().all(read)));
    let plain = all(&|line| json::read::<KernelInput>(line.as_bytes()).is_ok());
    let explained =
        all(&|line| read_from::<KernelInput, _>(&mut serde_json::Deserializer::from_str(line), "invalid_type").is_ok());
    let name = format!("ingest: {COUNT} kernels read as JSON, against the reader of faults");
    row(&name, plain, Some(explained), Bar::Floors(0.67));
}

async fn measure(database: &str, db: TestDb) {
    let cluster = world::cluster(db).await;
    let store = cluster.service.store().clone();
    let lines = world::running(COUNT, USERS);
    let server = Server::start(&cluster).await;
    let (took, answer) = server.post("/kernels", "application/x-ndjson", lines.into()).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&COUNT.into(), &0.into()));
    let mut floor = std::time::Duration::ZERO;
    for table in [KERNELS, CURSORS] {
        table.create_twin(&store).await;
        let rows = table.rows(&store, "1 = 1").await;
        floor += table.insert(&store, &rows).await;
    }
    row(&format!("ingest: {COUNT} kernels, {USERS} new users, {database}"), took, Some(floor), Bar::Floors(2.5));
}

/// Clients that each post one kernel after the other, all for new pairs of user and project.
const CLIENTS: usize = 200;
const EACH: usize = 25;

/// Many clients with one kernel a request, against one that posts the same kernels in arrays of 200.
async fn many_clients(database: &str, db: TestDb) {
    let cluster = world::cluster(db).await;
    let server = Server::start(&cluster).await;
    let rows = |from: usize| -> Vec<String> {
        let lines = world::running_of(from, CLIENTS * EACH);
        lines.lines().map(str::to_owned).collect()
    };
    let arrays: Vec<String> = rows(0).chunks(200).map(|part| format!("[{}]", part.join(","))).collect();
    let floor = timed_async(async {
        for array in arrays {
            server.post("/kernels", "application/json", array.into()).await;
        }
    })
    .await;
    let rows = rows(CLIENTS * EACH);
    let times = std::sync::Mutex::new(Vec::new());
    let took = timed_async(async {
        let clients = rows.chunks(EACH).map(|own| {
            let (client, times) = (server.of_another_client(), &times);
            async move {
                for row in own {
                    let (took, _) = client.post("/kernels", "application/json", row.clone().into()).await;
                    times.lock().unwrap().push(took);
                }
            }
        });
        futures::future::join_all(clients).await;
    })
    .await;
    let of = |what: &str| format!("ingest: {CLIENTS} clients, one kernel a request, {what}, {database}");
    row(&of("all"), took, Some(floor), Bar::Floors(4.0));
    row(&of("p99"), percentile(times.into_inner().unwrap(), 99), None, Bar::millis(500));
}
