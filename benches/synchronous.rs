//! The cost of a commit on SQLite that waits for the disk, against one that does not.

use std::time::Duration;

use fairshared::store::CommitDurability;

use crate::common::figure::{Bar, Bench, Database, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::{grown, median, on_each, world};

pub const BENCH: Bench = Bench { name: "synchronous", figures: &[&REPORT, &BULK], run };

const ON: &[On] = &[On::Fresh(Database::Sqlite), On::Grown(Database::Sqlite)];

static REPORT: Figure = Figure {
    name: "a report of one kernel with `sqlite_synchronous=full`, median",
    floor: "the same with `normal`",
    unit: Unit::Time,
    bars: &[Bar::Most(0.02)],
    on: ON,
};

static BULK: Figure = Figure {
    name: "100,000 kernels as NDJSON with `sqlite_synchronous=full`",
    floor: "the same with `normal`",
    unit: Unit::Time,
    bars: &[Bar::Floors(1.5)],
    on: ON,
};

const REPORTS: usize = 500;
const COUNT: usize = 100_000;
const USERS: usize = 10_000;

fn run() {
    on_each(ON, async |on| {
        let (normal, full) = (figures(on, CommitDurability::Normal).await, figures(on, CommitDurability::Full).await);
        REPORT.took(on, full.report, Some(normal.report));
        BULK.took(on, full.bulk, Some(normal.bulk));
    });
}

struct Figures {
    report: Duration,
    bulk: Duration,
}

async fn figures(on: On, synchronous: CommitDurability) -> Figures {
    let cluster = world::cluster(grown::database(on).await.with(synchronous)).await;
    let server = Server::start(&cluster).await;
    let (bulk, _) = server.post("/kernels", "application/x-ndjson", world::running(0..COUNT, USERS).into()).await;
    let mut reports = Vec::with_capacity(REPORTS);
    for line in world::finished(COUNT..COUNT + REPORTS, USERS).lines() {
        reports.push(server.post("/kernels", "application/x-ndjson", line.to_owned().into()).await.0);
    }
    Figures { report: median(reports), bulk }
}
