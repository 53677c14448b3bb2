//! The report of fairness over HTTP: the usage of 10,000 users and their entitled shares. The floor sends as many prepared
//! bytes.

use crate::common::figure::{Bar, Bench, Figure, On, SQLITE, Unit};
use crate::common::http::Server;
use crate::common::{block_on, median, world};
use crate::ranking::ready;
use crate::support::database;
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "fairness", figures: &[&REPORT], run };

static REPORT: Figure = Figure {
    name: "the report of fairness of 10,000 users over 7 days, all of them in one HTTP answer",
    floor: "the same bytes, ready",
    unit: Unit::Time,
    bars: &[Bar::Most(0.03)],
    on: SQLITE,
};

const ON: On = SQLITE[0];
const USERS: usize = 10_000;
const TIMES: usize = 50;
const PATH: &str = "/fairness?window=7d&tier=user";

fn run() {
    block_on(async {
        let cluster = world::cluster(database::sqlite().await).await;
        world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        let server = Server::start(&cluster).await;
        let (_, body) = server.get(PATH).await;
        let plain = ready("/ready", body).await;
        let (mut times, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            times.push(server.get(PATH).await.0);
            floors.push(plain.get("/ready").await.0);
        }
        REPORT.took(ON, median(times), Some(median(floors)));
    });
}
