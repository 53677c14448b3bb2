//! The files that commands leave beside the database.

use std::path::Path;

use super::program::run;
use crate::support::database::sqlite_unmigrated;

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
