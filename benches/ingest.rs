//! Ingest of NDJSON, against a bulk insert of the same rows; many clients with one kernel each, against one with arrays.

use std::time::Duration;

use serde_json::Value;

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::grown::{self, USERS as EARLIER};
use crate::common::http::Server;
use crate::common::twin::{CURSORS, KERNELS, Twin};
use crate::common::{on_each, percentile, timed_async, world};

pub const BENCH: Bench = Bench { name: "ingest", figures: &[&BULK, &CLIENTS_ALL, &CLIENTS_P99], run };

static BULK: Figure = Figure {
    name: "100,000 kernels as NDJSON over HTTP, 10,000 new users",
    floor: "bulk insert of the same kernels and cursors",
    unit: Unit::Time,
    bars: &[Bar::Floors(2.5)],
    on: FRESH_AND_GROWN,
};

static CLIENTS_ALL: Figure = Figure {
    name: "200 clients that post 25 kernels each, one after the other, each of a new user and project",
    floor: "one client that posts arrays of 200",
    unit: Unit::Time,
    bars: &[Bar::Floors(4.0)],
    on: FRESH_AND_GROWN,
};

static CLIENTS_P99: Figure =
    Figure { name: "p99 of these posts", floor: "", unit: Unit::Time, bars: &[Bar::Most(0.5)], on: FRESH_AND_GROWN };

const COUNT: usize = 100_000;
const USERS: usize = 10_000;
const CLIENTS: usize = 200;
/// Kernels of each client.
const EACH: usize = 25;

fn run() {
    on_each(FRESH_AND_GROWN, async |on| {
        bulk(on).await;
        many_clients(on).await;
    });
}

async fn bulk(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let store = cluster.service.store().clone();
    let twins = [Twin::full(&store, KERNELS).await, Twin::full(&store, CURSORS).await];
    let lines = world::running_of(0..COUNT, EARLIER..EARLIER + USERS);
    let server = Server::start(&cluster).await;
    let (took, answer) = server.post("/kernels", "application/x-ndjson", lines.into()).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&COUNT.into(), &0.into()));
    let mut floor = Duration::ZERO;
    for twin in twins {
        let rows = twin.lacking(&store).await;
        floor += twin.insert(&store, &rows).await;
    }
    BULK.took(on, took, Some(floor));
}

async fn many_clients(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let server = Server::start(&cluster).await;
    let rows = |from: usize| -> Vec<String> {
        let lines = world::running_alone(from..from + CLIENTS * EACH);
        lines.lines().map(str::to_owned).collect()
    };
    let arrays: Vec<String> = rows(EARLIER).chunks(200).map(|part| format!("[{}]", part.join(","))).collect();
    let floor = timed_async(async {
        for array in arrays {
            server.post("/kernels", "application/json", array.into()).await;
        }
    })
    .await;
    let rows = rows(EARLIER + CLIENTS * EACH);
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
    CLIENTS_ALL.took(on, took, Some(floor));
    CLIENTS_P99.took(on, percentile(times.into_inner().unwrap(), 99), None);
}
