//! 300 runs over the same kernels: the last ones must cost as much as the first ones.

use std::time::Duration;

use fairshared::store::Store;

use crate::common::figure::{Bar, Database, FRESH_AND_GROWN, Figure, On, POSTGRES, SQLITE, Unit};
use crate::common::number::number;
use crate::common::program::written;
use crate::common::twin::RECORDS;
use crate::common::{grown, law, median, on_each, timed_async, world};
use crate::support::fixture::{Fixture, GROUP};

pub static LATE: Figure = Figure {
    name: "a tick of 10,000 running kernels, the 301st to 310th",
    floor: "the 21st to 30th of another database with as long a history, in turns with them",
    unit: Unit::Time,
    bars: &[Bar::Floors(1.1), Bar::Most(0.12)],
    on: FRESH_AND_GROWN,
};

pub static LAW: Figure = Figure {
    name: "law of that time by the number of the tick, from the 30th to the 300th",
    floor: "",
    unit: Unit::Exponent,
    bars: &[],
    on: FRESH_AND_GROWN,
};

pub static WRITTEN: Figure = Figure {
    name: "written by a tick, mean of the 271st to 300th: log and checkpoints, on PostgreSQL the log alone",
    floor: "",
    unit: Unit::Mebibytes,
    bars: &[Bar::Most(12.0)],
    on: FRESH_AND_GROWN,
};

pub static ROW_SQLITE: Figure = row_of(&[Bar::Most(90.0)], SQLITE);
pub static ROW_POSTGRES: Figure = row_of(&[Bar::Most(110.0)], POSTGRES);

const fn row_of(bars: &'static [Bar], on: &'static [On]) -> Figure {
    let (name, floor) = ("a usage record in the database with its part of all indexes, after 300 ticks", "");
    Figure { name, floor, unit: Unit::Bytes, bars, on }
}

const KERNELS: usize = 10_000;
const TICKS: usize = 300;
/// Runs before those of the floor.
const FIRST: usize = 20;
/// Runs whose median stands for one of them.
const AROUND: usize = 10;
/// Runs over which bytes are averaged, because checkpoints are rare.
const MEAN: usize = 30;

pub fn run() {
    on_each(LATE.on, measure);
}

async fn measure(on: On) {
    let cluster = cluster(on).await;
    let store = cluster.service.store().clone();
    let (mut times, mut before) = (Vec::new(), 0.0);
    for tick in 0..TICKS {
        if tick == TICKS - MEAN {
            before = bytes_written(&store, on).await;
        }
        times.push(tick_of(&cluster).await);
    }
    let ticks = MEAN as f64;
    WRITTEN.measured(on, (bytes_written(&store, on).await - before) / ticks / f64::from(1 << 20), None);
    let around = |last: usize| median(times[last - AROUND..last].to_vec());
    let points: Vec<(f64, f64)> =
        (30..=TICKS).step_by(30).map(|last| (last as f64, around(last).as_secs_f64())).collect();
    LAW.measured(on, law::exponent(&points), None);
    if matches!(on, On::Fresh(_)) {
        let row = if on.database() == Database::Sqlite { &ROW_SQLITE } else { &ROW_POSTGRES };
        row.measured(on, bytes_of_a_row(&store, on).await, None);
    }
    // In turn, so that both run at the same speed of the machine.
    let young = self::cluster(on).await;
    for _ in 0..FIRST {
        tick_of(&young).await;
    }
    let (mut late, mut early) = (Vec::new(), Vec::new());
    for _ in 0..AROUND {
        early.push(tick_of(&young).await);
        late.push(tick_of(&cluster).await);
    }
    LATE.took(on, median(late), Some(median(early)));
}

async fn cluster(on: On) -> Fixture {
    let cluster = world::cluster(grown::database(on).await).await;
    world::ingest(&cluster, &world::running(0..KERNELS, KERNELS)).await;
    cluster
}

async fn tick_of(cluster: &Fixture) -> Duration {
    cluster.clock.advance_seconds(300);
    cluster.service.heartbeat().await.unwrap();
    timed_async(async {
        assert_eq!(cluster.service.aggregate(GROUP).await.unwrap().kernels, KERNELS as u64);
    })
    .await
}

/// The bytes written for the database so far. SQLite writes in this process, which writes little else.
async fn bytes_written(store: &Store, on: On) -> f64 {
    match on.database() {
        Database::Sqlite => written(),
        Database::Postgres => {
            number(store, on, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::double precision").await
        }
    }
}

async fn bytes_of_a_row(store: &Store, on: On) -> f64 {
    let rows = number(store, on, &format!("SELECT CAST(count(*) AS double precision) FROM {RECORDS}")).await;
    let size = match on.database() {
        Database::Sqlite => format!(
            "SELECT CAST(sum(pgsize) AS double precision) FROM dbstat \
             WHERE name IN (SELECT name FROM sqlite_master WHERE tbl_name = '{RECORDS}')"
        ),
        // A table without partitions is the only one of its tree.
        Database::Postgres => format!(
            "SELECT sum(pg_total_relation_size(relid))::double precision FROM pg_partition_tree('{RECORDS}') \
             UNION ALL SELECT pg_total_relation_size('{RECORDS}')::double precision \
             ORDER BY 1 DESC NULLS LAST LIMIT 1"
        ),
    };
    number(store, on, &size).await / rows
}
