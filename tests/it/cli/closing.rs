//! The files that commands leave beside the database.

use std::path::Path;

use super::program::{Server, run};
use crate::support::database::{TestDb, sqlite_unmigrated};

#[test]
fn what_a_command_has_written_lies_in_the_file_when_it_ends() {
    let db = sqlite_unmigrated();
    let log = format!("{}-wal", db.url.strip_prefix("sqlite://").unwrap());
    run(&db, ["migrate", "up"]).ok();
    assert!(!Path::new(&log).exists(), "the log is still there after the migrations");
    for n in 0..10 {
        run(&db, ["groups", "create", &format!("g{n}")]).ok();
        assert!(!Path::new(&log).exists(), "the log is still there after {} commands", n + 1);
        run(&db, ["jobs", "run", "aggregate"]).ok();
        assert!(!Path::new(&log).exists(), "the log is still there after {} runs", n + 1);
    }
}

#[test]
fn the_file_of_a_server_that_has_stopped_is_complete_without_its_log() {
    let db = sqlite_unmigrated();
    let file = db.url.strip_prefix("sqlite://").unwrap();
    run(&db, ["migrate", "up"]).ok();
    let names: Vec<String> = (0..3).map(|n| format!("g{n}")).collect();
    for name in &names {
        let server = Server::over(&db.url);
        run(&db, ["groups", "create", name]).ok();
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
    }
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone.db");
    std::fs::copy(file, &alone).unwrap();
    let alone = TestDb::at(format!("sqlite://{}", alone.display()));
    let listed = run(&alone, ["groups", "list"]).ok();
    assert!(names.iter().all(|name| listed.contains(name)), "{listed}");
}
