//! Databases that cannot be used: one clear sentence each, without the password.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use fairshared::store::CommitDurability;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tempfile::TempDir;

use super::support::sqlite_url;
use crate::cli::program::{Ended, end, over, program, run};
use crate::support::database::{postgres, sqlite};
use crate::support::on_both;
use crate::support::packages::is_root;
use crate::support::postgres::socket;
use crate::support::proxy::Proxy;

on_both! {
    async fn a_schema_of_a_newer_version(db: TestDb) {
        let store = db.store().await;
        let later = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)";
        #[expect(clippy::disallowed_methods, reason = "no version that this one knows writes it")]
        store.write().execute_unprepared(later).await.unwrap();
        store.close().await.unwrap();
        for command in ["serve", "rank g", "keys list", "migrate up", "migrate status", "migrate down", "audit"] {
            let line = run(&db, command.split(' ')).refused(1);
            assert_eq!(
                line,
                "the database was made by a newer version of fairshared: this one does not know the migrations \
                 m9999_later; run the newer version, or revert them with its `fairshared migrate down`",
                "{command}"
            );
        }
    }
}

/// A connection costs `PostgreSQL` several times as much as a statement. A command needs two: one reads the users, one all
/// other rows, and neither may be back in the pool when the command needs another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_makes_few_connections() {
    let db = postgres().await;
    run(&db, ["groups", "create", "g"]).ok();
    let proxy = Proxy::before(socket()).await;
    let mut rank = over(&proxy.url(db.postgres_name().unwrap()));
    tokio::task::spawn_blocking(move || end(rank.args(["rank", "g"])).ok()).await.unwrap();
    assert!((1..=3).contains(&proxy.connections()), "{}", proxy.connections());
}

/// The values of SQLite: 2 is full, 1 is normal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_waits_for_what_is_configured() {
    for (synchronous, number) in
        [(CommitDurability::default(), 2), ("normal".parse().unwrap(), 1), (CommitDurability::Full, 2)]
    {
        let db = sqlite().await.with(synchronous);
        let store = db.store().await;
        let asked = Statement::from_string(DbBackend::Sqlite, "PRAGMA synchronous");
        let row = store.write().query_one_raw(asked).await.unwrap().unwrap();
        assert_eq!(row.try_get_by_index::<i32>(0).unwrap(), number, "{synchronous:?}");
        store.close().await.unwrap();
    }
}

#[test]
fn a_file_that_is_no_database() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "These are notes about a database, and no database at all.\n".repeat(200)).unwrap();
    let url = sqlite_url(&file);
    for command in ["serve --listen 127.0.0.1:0", "rank g", "migrate up"] {
        let line = end(over(&url).args(command.split(' '))).refused(1);
        let name = file.display();
        assert_eq!(line, format!("cannot open the database {url}: the file {name} is not an SQLite database"));
    }
}

#[test]
fn no_file_and_no_folder() {
    let folder = TempDir::new().unwrap();
    let url = sqlite_url(&folder.path().join("fairshared.db"));
    let line = end(over(&url).args(["rank", "g"])).refused(1);
    assert!(line.contains("`fairshared migrate up` or `fairshared serve` makes it, and --database-url"), "{line}");
    let url = sqlite_url(&folder.path().join("nowhere/fairshared.db"));
    for command in ["serve", "migrate up"] {
        let line = end(over(&url).args(command.split(' '))).refused(1);
        assert!(line.starts_with(&format!("cannot open the database {url}: the file ")), "{line}");
        assert!(line.ends_with("cannot be made or seen: No such file or directory (os error 2)"), "{line}");
    }
}

const NOBODY: u32 = 65_534;

/// Runs as a user who is bound by file rights, because root may read every file.
fn unprivileged(url: &str, command: &str) -> Ended {
    let mut run = if is_root() {
        let mut run = Command::new("setpriv");
        run.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()]);
        run.arg(program().get_program()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        run.env("FAIRSHARED_DATABASE_URL", url);
        run
    } else {
        over(url)
    };
    end(run.args(command.split(' ')))
}

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_or_a_folder_that_is_read_only() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("fairshared.db");
    let url = sqlite_url(&file);
    end(over(&url).args(["migrate", "up"])).ok();
    if is_root() {
        chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for beside in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{beside}", file.display()));
    }
    allow(folder.path(), 0o555);
    let (name, place) = (file.display(), folder.path().display());
    for command in ["serve --listen 127.0.0.1:0", "rank g", "migrate up"] {
        allow(&file, 0o600);
        let line = unprivileged(&url, command).refused(1);
        assert_eq!(
            line,
            format!(
                "cannot open the database {url}: SQLite keeps files beside it, and the folder {place} cannot be written: \
                 Permission denied (os error 13)"
            )
        );
        allow(&file, 0o400);
        let line = unprivileged(&url, command).refused(1);
        assert_eq!(
            line,
            format!(
                "cannot open the database {url}: the file {name} cannot be written: Permission denied (os error 13)"
            )
        );
    }
    allow(folder.path(), 0o755);
}

/// Addresses that can be read, cannot be read, or lead nowhere.
#[test]
fn passwords_are_never_shown() {
    let urls = [
        "postgres://someone:pa55/secret@127.0.0.1:1/db",
        "postgres://someone:pa55?secret@127.0.0.1:1/db",
        "postgres://someone:pa55#secret@127.0.0.1:1/db",
        "postgres://someone:pa55@secret@127.0.0.1:1/db",
        "postgres://localhost:1/secret@127.0.0.1:1/db",
        "postgres://localhost:1?secret@127.0.0.1:1/db",
        "postgres://someone:secret@127.0.0.1:port/db",
        "postgres://someone:secret@127.0.0.1:99999/db",
        "postgres://someone:secret@[::1/db",
        "postgres:someone:secret@127.0.0.1:1/db",
        "postgres:/someone:secret@127.0.0.1:1/db",
        "postgers://someone:secret@127.0.0.1:1/db",
        "mysql://someone:secret@127.0.0.1:1/db",
        "someone:secret@127.0.0.1:1/db",
        "postgres://someone@127.0.0.1:1/db?password=secret",
        "postgres://someone@127.0.0.1:1/db?password=secret&sslmode=never",
        "postgres://someone@127.0.0.1:1/db?pasword=secret",
        "postgres://someone:secret@127.0.0.1:1/db",
        "postgresql://someone:secret@127.0.0.1:1/db",
    ];
    let run = |url: &'static str| move || (url, end(over(url).args(["rank", "g", "--log", "trace"])));
    for ended in urls.map(|url| std::thread::spawn(run(url))) {
        let (url, ended) = ended.join().unwrap();
        assert!(matches!(ended.code, Some(1 | 2)), "{url}: {ended:?}");
        assert!(!["secret", "pa55"].iter().any(|part| ended.stderr.contains(part)), "{url}: {}", ended.stderr);
    }
}
