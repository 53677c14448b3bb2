//! `migrate`: the schema up and down, by hand and by servers that start together.

use std::fs::File;

use fairshared::store::Store;

use super::program::{Server, end, over, run};
use crate::support::database::{TestDb, postgres_unmigrated, sqlite_unmigrated};
use crate::upgrade::of_version_0_1;

const DOWN_ALL: &[&str] = &["migrate", "down", "--yes", "--steps"];

async fn up_down_up(db: TestDb) {
    // Something to ask the status of.
    let store = Store::connect(&db.url).await.unwrap();
    store.close().await.unwrap();
    let statuses = || {
        let list = run(&db, ["migrate", "status", "-o", "json"]).json();
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|m| m["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = statuses().len();
    assert!(all > 0);
    assert_eq!(statuses(), vec!["pending"; all]);
    for _ in 0..2 {
        run(&db, ["migrate", "up"]).ok();
        assert_eq!(statuses(), vec!["applied"; all]);
        assert_eq!(run(&db, ["rank", "nowhere"]).refused(2), "there is no resource group \"nowhere\"");
        run(&db, DOWN_ALL.iter().copied().chain([all.to_string().as_str()])).ok();
        assert_eq!(statuses(), vec!["pending"; all]);
        assert!(run(&db, ["rank", "nowhere"]).refused(1).ends_with("`fairshared migrate up` applies them"));
    }
    assert_eq!(run(&db, ["migrate", "down"]).refused(2), "cannot revert 1 migration: the database has 0");
}

#[test]
fn a_reversal_says_what_it_loses_and_needs_a_yes() {
    let db = sqlite_unmigrated();
    run(&db, ["migrate", "up"]).ok();
    let refused = run(&db, ["migrate", "down", "--steps", "1000"]).refused(2);
    assert!(refused.starts_with("cannot revert 1000 migrations"), "{refused}");
    let asked = run(&db, ["migrate", "down"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.stderr.contains("give --yes") && asked.stderr.matches(": this loses ").count() == 1, "{asked:?}");
    let all = run(&db, ["migrate", "status", "-o", "json"]).json()["total"].as_u64().unwrap();
    let status = run(&db, ["migrate", "status", "-o", "csv"]).ok();
    assert!(!status.contains("pending"), "{status}");
    let done = run(&db, ["migrate", "down", "--yes", "--steps", &all.to_string()]);
    assert!(done.stderr.contains("m0001_schema: this loses everything"), "{done:?}");
    assert_eq!(done.code, Some(0));
}

#[tokio::test]
async fn up_down_up_on_sqlite() {
    up_down_up(sqlite_unmigrated()).await;
}

#[tokio::test]
async fn up_down_up_on_postgres() {
    up_down_up(postgres_unmigrated().await).await;
}

#[test]
fn status_is_a_table_or_csv() {
    let db = sqlite_unmigrated();
    run(&db, ["migrate", "up"]).ok();
    let csv = run(&db, ["migrate", "status", "-o", "csv"]).ok();
    assert!(
        csv.starts_with("name,status\nm0001_schema,applied\nm0002_connectors,applied\nm0003_forecasts,applied\nm0004_kernel_agents,applied\n"),
        "{csv}"
    );
    let table = run(&db, ["migrate", "status"]).ok();
    assert!(table.lines().next().unwrap().contains("NAME"), "{table}");
    assert!(table.contains("m0001_schema"), "{table}");
}

#[test]
fn only_what_should_make_a_database_makes_one() {
    let db = sqlite_unmigrated();
    let path = db.url.strip_prefix("sqlite://").unwrap();
    for args in [&["rank", "g"][..], &["migrate", "status"], &["migrate", "down"], &["keys", "list"], &["audit"]] {
        let line = run(&db, args).refused(1);
        assert!(line.starts_with(&format!("there is no database {path}")), "{line}");
        assert!(!std::path::Path::new(path).exists());
    }
}

#[test]
fn a_database_out_of_reach_is_one_line_without_the_password() {
    let line =
        end(over("postgres://someone:secret@127.0.0.1:1/nothing?connect_timeout=1").args(["rank", "g"])).refused(1);
    assert!(line.starts_with("cannot open the database postgres://someone@127.0.0.1:1/nothing"), "{line}");
    assert!(!line.contains("secret"));
    let line = end(over("sqlite:///nowhere/at/all.db").args(["migrate", "up"])).refused(1);
    assert!(line.starts_with("cannot open the database sqlite:///nowhere/at/all.db"), "{line}");
}

/// Starts two servers at the same time on one database, which migrate it. Returns their logs.
fn logs_of_two_servers(db: &TestDb) -> String {
    let folder = tempfile::tempdir().unwrap();
    let logs = ["one", "other"].map(|name| folder.path().join(name));
    let _servers = std::thread::scope(|scope| {
        let start = |log| {
            let mut command = over(&db.url);
            command.args(["serve", "--listen", "127.0.0.1:0", "--log", "info"]).stderr(File::create(log).unwrap());
            Server::start(&mut command)
        };
        let started = logs.each_ref().map(|log| scope.spawn(move || start(log)));
        started.map(|server| server.join().unwrap())
    });
    let logs = logs.map(|log| std::fs::read_to_string(log).unwrap()).concat();
    assert_eq!(
        run(db, ["migrate", "status", "-o", "csv"]).ok(),
        "name,status\nm0001_schema,applied\nm0002_connectors,applied\nm0003_forecasts,applied\nm0004_kernel_agents,applied\n",
        "{logs}"
    );
    logs
}

/// One of two servers makes the tables of an empty database, and one takes over a database of version 0.1.
fn two_servers_make_one_schema(db: &TestDb, old: &TestDb) {
    let line = "Migration 'm0001_schema' has been applied";
    let took_over = "the database of version 0.1 is taken over as it is";
    let count = |db| {
        let logs = logs_of_two_servers(db);
        [line, took_over].map(|line| logs.matches(line).count())
    };
    assert_eq!((count(db), count(old)), ([1, 0], [0, 1]));
}

#[tokio::test]
async fn two_servers_make_one_schema_on_sqlite() {
    let db = sqlite_unmigrated();
    two_servers_make_one_schema(&db, &of_version_0_1(&db).await);
}

#[tokio::test]
async fn two_servers_make_one_schema_on_postgres() {
    let db = postgres_unmigrated().await;
    two_servers_make_one_schema(&db, &of_version_0_1(&db).await);
}

/// A schema that a server uses is not reverted.
fn servers_have_to_stop_first(db: &TestDb) {
    let server = Server::over(&db.url);
    let status = run(db, ["migrate", "status", "-o", "csv"]).ok();
    let line = run(db, ["migrate", "down", "--yes"]).refused(1);
    assert!(line.starts_with("1 server runs on the database, ") && line.contains("stop all servers first"), "{line}");
    assert_eq!(run(db, ["migrate", "status", "-o", "csv"]).ok(), status);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let done = run(db, ["migrate", "down", "--yes"]);
    assert!(done.code == Some(0) && done.stderr.ends_with("1 migration reverted\n"), "{done:?}");
}

#[test]
fn a_server_on_a_file_keeps_its_schema() {
    servers_have_to_stop_first(&sqlite_unmigrated());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_postgres_keeps_its_schema() {
    servers_have_to_stop_first(&postgres_unmigrated().await);
}
