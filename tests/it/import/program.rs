//! The subcommand as a process: its output and its exit codes.

use super::gzip;
use crate::cli::program::{file, run, run_with_input};
use crate::support::database::sqlite;

const TABLE: &str = "job_id,user,project,start_time,end_time,cpu\n\
                     1,ann,ml,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4\n\
                     2,bob,ml,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,x\n";

#[tokio::test]
async fn tells_what_it_did() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let jobs = file(folder.path(), "jobs.csv", TABLE);
    let report = run(&db, ["import", "csv", &jobs, "--resource-group", "east", "-o", "json"]).json();
    assert_eq!((&report["rows"], &report["changed"], &report["slices"]), (&2.into(), &1.into(), &1.into()));
    assert_eq!((&report["dropped"][0]["first_line"], &report["ended_early"]), (&3.into(), &serde_json::Value::Null));
    let again = run_with_input(&db, &["import", "csv", "-", "--resource-group", "east"], TABLE.as_bytes());
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "no bar for a pipe");
    assert!(again.stdout.starts_with("2 rows read, 1 taken, 1 dropped\n"), "{again:?}");
    assert!(again.stdout.contains("0 kernels new or changed, 1 already known"), "{again:?}");
    assert!(again.stdout.contains("nothing changed"), "{again:?}");
}

#[tokio::test]
async fn exit_codes_tell_a_cut_file_from_a_useless_one() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let whole = gzip(TABLE.repeat(200).as_bytes());
    let cut = file(folder.path(), "cut.gz", &whole[..whole.len() - 9]);
    let ended = run(&db, ["import", "csv", &cut]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("ends early at line "), "{ended:?}");
    let useless = file(folder.path(), "useless.csv", "who,what\n1,2\n");
    assert!(run(&db, ["import", "csv", &useless]).refused(2).contains("job_id"));
    assert!(run(&db, ["import", "csv", "nowhere.csv"]).refused(2).contains("nowhere.csv"));
    assert!(run(&db, ["import", "csv", &cut, "-o", "csv"]).refused(2).contains("table or json"));
    assert_eq!(run(&db, ["import", "xml", &cut]).code, Some(2));
}

#[tokio::test]
async fn a_file_that_holds_nothing_of_use_is_no_success() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let jobs = file(folder.path(), "jobs.csv", TABLE);
    let nothing = run(&db, ["import", "swf", &jobs]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.stdout.contains("no row was taken: is the file of this format?"), "{nothing:?}");
    // Nothing happened on a quiet day.
    let quiet = file(folder.path(), "quiet.csv", TABLE.lines().next().unwrap().to_owned() + "\n");
    assert_eq!(run(&db, ["import", "csv", &quiet]).code, Some(0));
}

#[tokio::test]
async fn capacities_of_other_groups_are_told() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let capacity = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\nwest,n1,64,512,8,2026-01-01T00:00:00Z,\n";
    let (jobs, nodes) = (file(folder.path(), "jobs.csv", TABLE), file(folder.path(), "nodes.csv", capacity));
    let report = run(&db, ["import", "csv", &jobs, "--capacities", &nodes]).ok();
    assert!(report.contains("warning: no row belongs to what has a capacity in the file: west"), "{report}");
}
