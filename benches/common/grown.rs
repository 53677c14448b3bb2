//! Databases that have been in use for 28 days. They are made once for each schema, kept in the build folder, and copied.
//!
//! A real cluster of 10,000 kernels that are recorded every 5 minutes has 80 million slices in that time, and making them would
//! take an hour. Here each of 10,000 users has one kernel a day that is recorded every 4 hours: 1.7 million slices and 280,000
//! kernels. That is enough: tables and indexes are several times larger than what a connection keeps of them, and each user has
//! a bucket for each day of the look-back.

use std::path::{Path, PathBuf};
use std::process::Command;

use fairshared::store::Store;
use migration::Schema;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::figure::{Database, On};
use super::rows::folder;
use super::world;
use crate::support::database::{self, TestDb};
use crate::support::fixture::Fixture;
use crate::support::packages::run;
use crate::support::postgres::Cluster;

pub const DAYS: usize = 28;
pub const USERS: usize = 10_000;
/// The first kernel of the history; benches number theirs from 0 on.
const KERNELS: usize = 1 << 31;
/// Changes with what [`live`] does.
const EDITION: u32 = 1;
const TICK_HOURS: i64 = 4;
const NAME: &str = "history";

/// A database of the kind that `on` names.
pub async fn database(on: On) -> TestDb {
    match on {
        On::Memory => panic!("no database is asked"),
        On::Fresh(Database::Sqlite) => database::sqlite().await,
        On::Fresh(Database::Postgres) => database::postgres().await,
        On::Grown(Database::Sqlite) => sqlite().await,
        On::Grown(Database::Postgres) => postgres().await,
    }
}

/// Lives through the days before [`world::START`] in a migrated database.
async fn live(db: TestDb) {
    let first = crate::support::time(world::START).plus_micros(-world::seconds(DAYS * 86_400));
    let cluster = world::cluster_at(db, &first.to_string()).await;
    for day in 0..DAYS {
        let morning = cluster.service.clock().now();
        let kernels = KERNELS + day * USERS..KERNELS + (day + 1) * USERS;
        let lines = |ended: bool| world::of_one_day(kernels.clone(), USERS, morning, ended);
        for tick in 1..=24 / TICK_HOURS {
            cluster.clock.advance_seconds(3_600 * TICK_HOURS);
            match tick {
                1 => world::ingest(&cluster, &lines(false)).await,
                6 => world::ingest(&cluster, &lines(true)).await,
                _ => {}
            }
            assert_eq!(cluster.tick().await.slices_created, USERS as u64);
        }
    }
    close(cluster).await;
}

async fn close(cluster: Fixture) {
    cluster.service.store().clone().close().await.unwrap();
}

/// Tells schemas apart: a new one makes a new history.
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

/// The same as of the cluster that fresh databases are in.
const SETTINGS: &[&str] = &["max_connections=300", "shared_buffers=128MB"];

/// Copies a file or a folder; what is there under the name is whole.
fn copy(from: &Path, to: &Path) {
    let part = to.with_extension("part");
    let _ = std::fs::remove_dir_all(&part);
    run(Command::new("cp").arg("-a").arg(from).arg(&part));
    std::fs::rename(part, to).unwrap();
}
