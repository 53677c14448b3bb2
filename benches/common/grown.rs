//! Databases that have been in use for 28 days. They are made once for each schema, kept in the build folder, and copied.
//!
//! A real cluster of 10,000 kernels that are recorded every 5 minutes has 80 million slices in that time, and making them
//! would take an hour. Here each of 10,000 users has one kernel a day that is recorded every 4 hours, and every 15 minutes
//! on the last days. Days are closed as on a server: compacted after three days, and purged. The result has 2.2 million
//! records and 280,000 kernels. That is enough, because tables and indexes are several times larger than the cache of a
//! connection, and each user has a bucket for each day of the look-back.

use std::path::{Path, PathBuf};
use std::process::Command;

use fairshared::jobs::JobSettings;
use fairshared::store::Store;
use migration::Schema;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::figure::{Database, On};
use super::rows::folder;
use super::world;
use crate::support::database::{self, TestDb};
use crate::support::fixture::{Fixture, GROUP};
use crate::support::packages::run;
use crate::support::postgres::Cluster;

pub const DAYS: usize = 28;
pub const USERS: usize = 10_000;
/// The number of the first kernel of the history. Benches number theirs from 0 on.
const KERNELS: usize = 1 << 31;
/// To be increased whenever [`live`] changes the data.
const EDITION: u32 = 2;
/// Seconds between the runs of a day. All kernels begin before the first run, and end after the last but one.
const COARSE: [i64; 6] = [4 * 3_600; 6];
const FINE: [i64; 64] = [900; 64];
const NAME: &str = "history";

/// A database of the kind that `on` names.
pub async fn database(on: On) -> TestDb {
    match on {
        On::Grown(Database::Sqlite) => sqlite().await,
        On::Grown(Database::Postgres) => postgres().await,
        _ => fresh(on).await,
    }
}

/// A database of the kind that `on` names, without a history.
pub async fn fresh(on: On) -> TestDb {
    match on.database() {
        Database::Sqlite => database::sqlite().await,
        Database::Postgres => database::postgres().await,
    }
}

/// Makes the history of the days before [`world::START`] in a migrated database.
async fn live(db: TestDb) {
    let first = crate::support::time(world::START).plus_micros(-world::seconds(DAYS * 86_400));
    let cluster = world::cluster_at(db, &first.to_string()).await;
    let JobSettings { raw_days, keep_buckets_days, keep_kernels_days, .. } = JobSettings::default();
    for day in 0..DAYS {
        let morning = cluster.service.clock().now();
        let kernels = KERNELS + day * USERS..KERNELS + (day + 1) * USERS;
        let lines = |ended: bool| world::of_one_day(kernels.clone(), USERS, morning, ended);
        let ticks = if day + raw_days as usize >= DAYS {
            [&COARSE[..1], &FINE[..], &COARSE[5..]].concat()
        } else {
            COARSE.to_vec()
        };
        for (tick, seconds) in ticks.iter().enumerate() {
            cluster.clock.advance_seconds(*seconds);
            if tick == 0 {
                world::ingest(&cluster, &lines(false)).await;
            } else if tick + 1 == ticks.len() {
                world::ingest(&cluster, &lines(true)).await;
            }
            assert_eq!(cluster.tick().await.slices_created, USERS as u64);
        }
        cluster.service.compact(GROUP, raw_days).await.unwrap();
        cluster.service.purge(GROUP, keep_buckets_days).await.unwrap();
        cluster.service.purge_kernels(GROUP, keep_kernels_days).await.unwrap();
    }
    cluster.service.shrink_file().await;
    close(cluster).await;
}

async fn close(cluster: Fixture) {
    cluster.service.store().clone().close().await.unwrap();
}

/// The version of the schema, because a new schema needs a new history.
async fn version() -> String {
    let db = database::sqlite().await;
    let store = db.store().await;
    let Schema { applied, .. } = store.schema().await.unwrap();
    store.close().await.unwrap();
    format!("{}-{EDITION}", applied.last().map_or("none", String::as_str))
}

async fn sqlite() -> TestDb {
    static MADE: OnceCell<PathBuf> = OnceCell::const_new();
    let kept = MADE.get_or_init(async || {
        let kept = folder().join(format!("{NAME}-{}.db", version().await));
        if !kept.exists() {
            println!("(a history of {DAYS} days is made once for SQLite)");
            let db = database::sqlite().await;
            let file = PathBuf::from(db.url.strip_prefix("sqlite://").unwrap());
            live(TestDb::at(db.url.clone())).await;
            copy(&file, &kept);
        }
        kept
    });
    let own = TempDir::new().unwrap();
    let file = own.path().join("fairshared.db");
    std::fs::copy(kept.await, &file).unwrap();
    TestDb::in_folder(format!("sqlite://{}", file.display()), own)
}

async fn postgres() -> TestDb {
    static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let cluster = CLUSTER.get_or_init(async || {
        let kept = folder().join(format!("{NAME}-{}.postgres", version().await));
        if !kept.exists() {
            println!("(a history of {DAYS} days is made once for PostgreSQL)");
            let cluster = Cluster::new("first", SETTINGS);
            cluster.execute(&format!("CREATE DATABASE {NAME}")).await;
            let db = TestDb::at(cluster.url(NAME));
            let store = Store::connect(&db.url).await.unwrap();
            store.migrate_up().await.unwrap();
            store.close().await.unwrap();
            live(db).await;
            cluster.stop();
            copy(&cluster.data(), &kept);
        }
        Cluster::over(NAME, SETTINGS, &kept)
    });
    let (cluster, name) = (cluster.await, NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    cluster.execute(&format!("CREATE DATABASE grown_{name} TEMPLATE {NAME}")).await;
    TestDb::at(cluster.url(&format!("grown_{name}")))
}

/// The settings of the cluster that fresh databases are in.
const SETTINGS: &[&str] = &["max_connections=300", "shared_buffers=128MB"];

/// Copies a file or a folder. A copy that exists under its name is complete.
fn copy(from: &Path, to: &Path) {
    let part = to.with_extension("part");
    let _ = std::fs::remove_dir_all(&part);
    run(Command::new("cp").arg("-a").arg(from).arg(&part));
    std::fs::rename(part, to).unwrap();
}
