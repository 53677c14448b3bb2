//! Database files that are deleted, replaced or open to others while a server runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fairshared::engine::ingest::batch::LARGEST_BATCH;
use fairshared::store::{Store, groups};
use serde_json::Value;
use tempfile::TempDir;

use super::support::{Answer, Reporter, sqlite_url, start, until};
use crate::cli::program::{Server, end, over};
use crate::support::database;
use crate::support::fixture::{Fixture, GROUP, kernel};

struct Scene {
    folder: TempDir,
    reporter: Reporter,
    server: Server,
}

impl Scene {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut reporter = Reporter::new(sqlite_url(&folder.path().join("fairshared.db")));
        let server = start(&reporter.url, &reporter.log);
        reporter.make_group(&server).await;
        reporter.report_some(&server, 5).await;
        Self { folder, reporter, server }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Fails unless writes are refused, all other requests are answered, and the service reports the reason.
    async fn assert_refuses(&mut self) {
        for _ in 0..3 {
            let (_, answer) = self.reporter.report_another(&self.server).await;
            assert_refused(&answer);
            self.reporter.assert_answers(&self.server).await;
        }
        self.reporter.until_ready_says(&self.server, "database_replaced", true).await;
        self.reporter.log.until_says(&["the service is degraded", "database_replaced"]).await;
    }
}

fn assert_refused(answer: &Answer) {
    assert_eq!((answer.status, &answer.body["code"]), (503, &Value::from("database_replaced")), "{answer:?}");
    assert!(answer.retry_after.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_moved_away_and_back() {
    let mut scene = Scene::new().await;
    for name in ["fairshared.db", "fairshared.db-wal", "fairshared.db-shm"] {
        std::fs::rename(scene.path(name), scene.path("elsewhere")).unwrap();
        scene.assert_refuses().await;
        assert!(!scene.path(name).exists(), "{name} was made again");
        std::fs::rename(scene.path("elsewhere"), scene.path(name)).unwrap();
        scene.reporter.report_some(&scene.server, 5).await;
        scene.reporter.until_ready_says(&scene.server, "database_replaced", false).await;
    }
    scene.reporter.assert_stored().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_deleted() {
    let mut scene = Scene::new().await;
    std::fs::remove_file(scene.path("fairshared.db")).unwrap();
    scene.assert_refuses().await;
    scene.server.signal("TERM");
    assert_eq!(scene.server.wait(), Some(0));
    assert!(!scene.folder.path().join("fairshared.db").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_replaced_is_not_touched() {
    let mut scene = Scene::new().await;
    let other = Reporter::new(sqlite_url(&scene.path("other.db")));
    let bytes = std::fs::read(scene.path("other.db")).unwrap();
    std::fs::rename(scene.path("other.db"), scene.path("fairshared.db")).unwrap();
    drop(other);
    scene.assert_refuses().await;
    scene.server.signal("TERM");
    assert_eq!(scene.server.wait(), Some(0));
    assert_eq!(std::fs::read(scene.folder.path().join("fairshared.db")).unwrap(), bytes);
}

/// The contents of the log are written into the file, whichever of the two is no longer in its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_and_its_log_that_are_parted() {
    for log_is_lost in [true, false] {
        let mut scene = Scene::new().await;
        let (file, log) = (scene.path("fairshared.db"), scene.path("fairshared.db-wal"));
        let moved = scene.path("elsewhere.db");
        if log_is_lost {
            std::fs::remove_file(&log).unwrap();
        } else {
            std::fs::rename(&file, &moved).unwrap();
        }
        scene.assert_refuses().await;
        let copy = scene.path("copy.db");
        until("the file is complete", async || {
            std::fs::copy(if log_is_lost { &file } else { &moved }, &copy).unwrap();
            scene.reporter.lost_in(&sqlite_url(&copy)).await.is_empty()
        })
        .await;
        scene.server.kill();
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_their_owners_alone() {
    let mut scene = Scene::new().await;
    let names = ["fairshared.db", "fairshared.db-wal", "fairshared.db-shm"];
    for name in names {
        assert_eq!(mode(&scene.path(name)), 0o600, "{name}");
    }
    // The files of an earlier version may be readable by others.
    for name in names {
        std::fs::set_permissions(scene.path(name), std::fs::Permissions::from_mode(0o664)).unwrap();
    }
    scene.server.kill();
    scene.server = start(&scene.reporter.url, &scene.reporter.log);
    for name in names {
        assert_eq!(mode(&scene.path(name)), 0o600, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_busy_database_is_one_moment_of_it() {
    let mut scene = Scene::new().await;
    let copy = scene.path("copy.db");
    let backup = |file: &Path| end(over(&scene.reporter.url).arg("backup").arg(file));
    let ended = backup(&copy);
    let said = ended.stderr.clone();
    assert_eq!(ended.ok(), "");
    assert!(said.starts_with(&format!("{} holds the database as of now, ", copy.display())), "{said}");
    assert_eq!(mode(&copy), 0o600);
    // It is never overwritten.
    let bytes = std::fs::read(&copy).unwrap();
    let line = backup(&copy).refused(1);
    assert_eq!(line, format!("cannot write {}: File exists (os error 17)", copy.display()));
    assert_eq!(std::fs::read(&copy).unwrap(), bytes);
    let line = backup(&scene.path("nowhere/copy.db")).refused(1);
    assert!(line.ends_with("No such file or directory (os error 2)"), "{line}");
    scene.reporter.report_some(&scene.server, 1).await;
    // The copy contains the writes that were acknowledged before.
    scene.reporter.acknowledged.pop();
    scene.reporter.url = sqlite_url(&copy);
    scene.reporter.assert_stored().await;
}

#[test]
fn postgres_has_its_own_program_for_backups() {
    let line = end(over("postgres://someone@127.0.0.1:1/nothing").args(["backup", "copy.db"])).refused(2);
    assert_eq!(line, "a PostgreSQL database is backed up with its own program, pg_dump");
}

/// The log is written into the file after a large delivery, although the database stays open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_large_delivery_stores_is_in_the_file() {
    let f = Fixture::new(database::sqlite().await, "2026-01-10T00:00:00Z").await;
    let count = LARGEST_BATCH / 2;
    let kernels: Vec<Value> =
        (0..count).map(|n| kernel(&format!("k{n}"), "ann", "ml", "2026-01-10T00:00:00Z")).collect();
    assert!(f.ingest(&kernels).await.is_empty());
    let (file, folder) = (f.db.url.strip_prefix("sqlite://").unwrap(), TempDir::new().unwrap());
    let copy = folder.path().join("copy.db");
    let stored = async || {
        let store = Store::connect(&sqlite_url(&copy)).await.ok()?;
        let group = groups::find(store.read(), GROUP).await.ok()??;
        let kernels = groups::count_contents(store.read(), GROUP, group.key).await.ok()?.kernels;
        store.close().await.ok()?;
        usize::try_from(kernels).ok()
    };
    until("the file has all kernels", async || {
        // While it is written, a copy may be of two moments.
        std::fs::copy(file, &copy).unwrap();
        stored().await == Some(count)
    })
    .await;
}
