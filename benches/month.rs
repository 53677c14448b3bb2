//! A month of a full cluster, with all its runs and jobs, on a simulated clock: the size of the database.

use std::ops::Range;
use std::sync::Arc;

use fairshared::domain::time::Timestamp;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::jobs::JobControl;

use crate::common::block_on;
use crate::common::figure::{Bar, Bench, Database, FRESH, Figure, On, Unit};
use crate::common::number::number;
use crate::common::{grown, world};
use crate::support::fixture::{Fixture, GROUP};

pub const BENCH: Bench = Bench { name: "month", figures: &[&SIZE, &LATER, &STEADY], run };

static SIZE: Figure = Figure {
    name: "the database after 28 days of 10,000 running kernels, a tick every 5 minutes",
    floor: "",
    unit: Unit::Mebibytes,
    bars: &[Bar::Most(2_560.0)],
    on: FRESH,
};

static LATER: Figure = Figure {
    name: "the same after 35 days",
    floor: "after 28 days",
    unit: Unit::Mebibytes,
    bars: &[Bar::Floors(1.1)],
    on: FRESH,
};

/// From the 37th day on, as many ended kernels are removed as added. Buckets and day totals stay for three years.
static STEADY: Figure = Figure {
    name: "the same after 49 days",
    floor: "after 42 days",
    unit: Unit::Mebibytes,
    bars: &[Bar::Floors(1.05)],
    on: FRESH,
};

const KERNELS: usize = 10_000;
const LAST: usize = 49;
/// Kernels that end in an hour, each after a day; as many begin.
const TURNOVER: usize = KERNELS / 24;
const TICKS_AN_HOUR: usize = 12;

/// Both databases at the same time, because their sizes do not depend on the speed of the machine.
fn run() {
    let [first, second] = [FRESH[0], FRESH[1]];
    block_on(async {
        let (first, second) = (tokio::spawn(live(first)), tokio::spawn(live(second)));
        first.await.unwrap();
        second.await.unwrap();
    });
}

async fn live(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let runner = JobRunner::new(Arc::clone(&cluster.service), JobSettings::default());
    let job = async |name: &str| {
        let runs = Arc::clone(&runner).run_now(name.to_owned(), Some(GROUP.to_owned())).await.unwrap().unwrap();
        assert!(runs.iter().all(|run| run.status == "succeeded"), "{runs:?}");
    };
    let start = crate::support::time(world::START);
    world::ingest(&cluster, &lines(start, 0..KERNELS, None)).await;
    let mut hours = 0;
    let mut sizes = vec![size(&cluster, on).await];
    for day in 1..=LAST {
        for _ in 0..24 {
            for _ in 0..TICKS_AN_HOUR {
                cluster.clock.advance_seconds(3_600 / i64::try_from(TICKS_AN_HOUR).unwrap());
                cluster.service.heartbeat().await.unwrap();
                job("aggregate").await;
            }
            hours += 1;
            world::ingest(&cluster, &turnover(start, hours)).await;
            job("compact").await;
        }
        job("purge").await;
        let size = size(&cluster, on).await;
        println!("({on}: {size:.0} MiB after {day} days)");
        sizes.push(size);
        match day {
            28 => SIZE.measured(on, size, None),
            35 => LATER.measured(on, size, Some(sizes[28])),
            49 => STEADY.measured(on, size, Some(sizes[42])),
            _ => {}
        }
    }
}

/// The kernels that end and those that begin at `hour`.
fn turnover(start: Timestamp, hour: usize) -> String {
    let first = (hour - 1) * TURNOVER;
    let now = start.plus_micros(world::seconds(hour * 3_600));
    lines(start, first..first + TURNOVER, Some(now)) + &lines(start, KERNELS + first..KERNELS + first + TURNOVER, None)
}

/// The start of a kernel: the first ones begin at the start, the others when one of their predecessors ends.
fn started(start: Timestamp, kernel: usize) -> Timestamp {
    let hour = kernel.checked_sub(KERNELS).map_or(0, |later| later / TURNOVER + 1);
    start.plus_micros(world::seconds(hour * 3_600))
}

fn lines(start: Timestamp, kernels: Range<usize>, end: Option<Timestamp>) -> String {
    world::lines(kernels, |out, kernel| {
        world::kernel_line(out, kernel, kernel % KERNELS, started(start, kernel), end);
    })
}

/// The size in MiB, including SQLite's log.
async fn size(cluster: &Fixture, on: On) -> f64 {
    let bytes = if matches!(on, On::Fresh(Database::Sqlite)) {
        let file = cluster.db.url.strip_prefix("sqlite://").unwrap();
        let of = |file: &str| std::fs::metadata(file).map_or(0, |m| m.len());
        (of(file) + of(&format!("{file}-wal"))) as f64
    } else {
        let sql = "SELECT pg_database_size(current_database())::double precision";
        number(cluster.service.store(), on, sql).await
    };
    bytes / f64::from(1 << 20)
}
