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
    let first = run(&db, ["import", "csv", &jobs, "--resource-group", "east", "-o", "json"]);
    assert_eq!(first.code, Some(1), "a job that ran was dropped: {first:?}");
    let report: serde_json::Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!((&report["rows"], &report["changed"], &report["slices"]), (&2.into(), &1.into(), &1.into()));
    assert_eq!((&report["dropped_started"], &report["skipped_fields"]), (&1.into(), &serde_json::json!([])));
    assert_eq!((&report["dropped"][0]["first_line"], &report["ended_early"]), (&3.into(), &serde_json::Value::Null));
    let again = run_with_input(&db, &["import", "csv", "-", "--resource-group", "east"], TABLE.as_bytes());
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.lines().all(|line| line.starts_with("warning: ")), "no bar for a pipe: {again:?}");
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
    for form in ["csv", "ndjson"] {
        let refused = run(&db, ["import", "csv", &cut, "-o", form]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{form}: {refused:?}");
        assert!(refused.stderr.contains("[possible values: table, json]"), "{form}: {refused:?}");
    }
    let group = run(&db, ["import", "csv", &cut, "--resource-group", "a/b"]).refused(2);
    assert!(group.starts_with("the resource group must have") && group.matches("must have").count() == 1, "{group}");
    assert_eq!(run(&db, ["import", "xml", &cut]).code, Some(2));
}

#[tokio::test]
async fn a_file_that_holds_nothing_of_use_is_no_success() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let jobs = file(folder.path(), "jobs.csv", TABLE);
    for format in ["swf", "pbs", "lsf"] {
        let nothing = run(&db, ["import", format, &jobs]);
        assert_eq!(nothing.code, Some(1), "{nothing:?}");
        assert!(nothing.stdout.contains("no row was taken: is the file of this format?"), "{nothing:?}");
    }
    let events = file(folder.path(), "lsb.events", "#1770000000\n\"JOB_NEW\" \"10.1\" 1770000000 4711 1001\n");
    let nothing = run(&db, ["import", "lsf", &events]);
    assert!(nothing.code == Some(1) && nothing.stdout.contains("is the file of this format?"), "{nothing:?}");
    // Nothing happened on a quiet day.
    let quiet = file(folder.path(), "quiet.csv", TABLE.lines().next().unwrap().to_owned() + "\n");
    assert_eq!(run(&db, ["import", "csv", &quiet]).code, Some(0));
}

#[tokio::test]
async fn capacities_of_other_groups_are_told() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let capacity = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\nwest,n1,64,512,8,2026-01-01T00:00:00Z,\n";
    let (jobs, nodes) = (file(folder.path(), "jobs.csv", TABLE), file(folder.path(), "nodes.csv", capacity));
    let import = run(&db, ["import", "csv", &jobs, "--capacities", &nodes]);
    assert!(import.stderr.contains("warning: no row belongs to what has a capacity in the file: west\n"), "{import:?}");
    assert!(!import.stdout.contains("no row belongs"), "{import:?}");
}

#[tokio::test]
async fn what_a_dump_is_decides_its_exit_code() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let header = "JobID|User|Account|State|Start|End|NCPUS\n";
    let pending = format!("{header}7|ann|ml|PENDING|Unknown|Unknown|1\n8_[1-9]|ann|ml|PENDING|Unknown|Unknown|1\n");
    // Nothing has started yet: a nightly import is none the worse.
    let waiting = run(&db, ["import", "sacct", &file(folder.path(), "pending.txt", &pending)]);
    assert_eq!(waiting.code, Some(0), "{waiting:?}");
    // All of it was refused.
    let rows = format!("{header}7|ann|ml|COMPLETED|1970-02-01T00:00:00|2026-02-01T00:00:00|1\n");
    let refused = run(&db, ["import", "sacct", &file(folder.path(), "old.txt", &rows)]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.starts_with("1 row read, 0 taken, 0 dropped, 1 refused\n"), "{refused:?}");
    assert!(refused.stdout.contains("no row was taken: what it holds was refused"), "{refused:?}");
    let counted = run(&db, ["import", "sacct", &file(folder.path(), "old.txt", &rows), "-o", "json"]);
    assert!(counted.stdout.contains("\"taken\": 0"), "{counted:?}");
}

#[tokio::test]
async fn a_file_of_another_kind_is_named_with_what_the_format_is_of() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let path = file(folder.path(), "notes.txt", "hello world\nfoo,bar\n");
    let line = run(&db, ["import", "sacct", &path]).refused(2);
    assert!(line.starts_with(&format!("{path}: the header line lacks the fields JobID, ")), "{line}");
    assert!(line.ends_with("; the format sacct is of Slurm: sacct --parsable2 with its header line, sacct --json, or the job list of slurmrestd (docs/IMPORTS.md shows the command)"), "{line}");
    let empty = file(folder.path(), "empty.txt", "");
    assert!(run(&db, ["import", "csv", &empty]).refused(2).starts_with(&format!("{empty}: the file is empty: ")));
}

#[tokio::test]
async fn the_options_of_sacct() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let rows = "7\tann\tml\tCOMPLETED\t2026-02-01T08:00:00\t2026-02-01T09:00:00\t8\n";
    let dump = file(folder.path(), "dump.txt", rows);
    let fields = ["--noheader", "--fields", "JobID,User,Account,State,Start,End,NCPUS"];
    let told = [&["import", "sacct", &dump, "--delimiter", "tab", "--timezone", "Europe/Berlin"][..], &fields].concat();
    let report = run(&db, told).ok();
    assert!(report.contains("times without an offset were read as Europe/Berlin, in 1 row\n"), "{report}");
    for wrong in [&["--timezone", "Berlin"][..], &["--delimiter", "||"], &["--noheader"], &["--fields", "JobID"]] {
        assert_eq!(run(&db, [&["import", "sacct", &dump], wrong].concat()).code, Some(2), "{wrong:?}");
    }
    let few = run(&db, ["import", "sacct", &dump, "--noheader", "--fields", "JobID,Foo"]).refused(2);
    let expected = "--fields lacks the fields User, Account, State, Start, End, AllocTRES, and \"Foo\" is no field that an \
                    import reads";
    assert_eq!(few, expected);
    assert!(run(&db, ["import", "swf", &dump, "--timezone", "UTC"]).refused(2).contains("--timezone says nothing"));
}

#[tokio::test]
async fn a_dropped_job_that_ran_makes_the_exit_code_one_and_the_others_count() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let header = "JobID|User|Account|State|Start|End|NCPUS|Priority\n";
    let good = "7|ann|ml|COMPLETED|2026-02-01T08:00:00|2026-02-01T09:00:00|1|-\n";
    let bad = "8|ann|ml|COMPLETED|2026-02-01T08:00:00|2026-02-01T09:00:00|many|1\n";
    let dump = file(folder.path(), "dump.txt", format!("{header}{good}{bad}"));
    let outcome = run(&db, ["import", "sacct", &dump]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for sentence in [
        "2 rows read, 1 taken, 1 dropped\n",
        "  field Priority left out of 1 row, first at line 2: \"-\" cannot be read\n",
        "  1 dropped row is of jobs that ran or may have run: what they used is missing\n",
        "1 kernel new or changed, 0 already known",
    ] {
        assert!(outcome.stdout.contains(sentence), "{sentence}: {outcome:?}");
    }
    let history = run(&db, ["import", "sacct", &dump, "--history", "--resource-group", "old", "-o", "json"]);
    assert_eq!(history.code, Some(1), "{history:?}");
    let report: serde_json::Value = serde_json::from_str(&history.stdout).unwrap();
    assert_eq!((&report["taken"], &report["dropped_started"]), (&1.into(), &1.into()));
    assert_eq!(report["skipped_fields"][0]["field"], "Priority");
    // Without the bad row all is well, and job steps or jobs that wait are no loss.
    let rows = format!(
        "{header}{good}7.batch|||COMPLETED|2026-02-01T08:00:00|2026-02-01T09:00:00|x|\n9|ann|ml|PENDING|soon|x|x|x\n"
    );
    let well = run(&db, ["import", "sacct", &file(folder.path(), "well.txt", rows)]);
    assert_eq!(well.code, Some(0), "{well:?}");
}

#[tokio::test]
async fn resources_become_slots_by_choice() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let row = "JobID|Cluster|User|Account|State|Start|End|AllocTRES\n\
               7|c1|ann|ml|COMPLETED|2026-02-01T08:00:00|2026-02-01T09:00:00|billing=12,cpu=4,gres/gpu:1g.5gb=2,gres/gpu=2\n";
    let dump = file(folder.path(), "dump.txt", row);
    let import = ["import", "sacct", &dump, "--slot", "billing", "--slot", "gres/gpu:1g.5gb=mig.small"];
    let chosen = run(&db, import);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    assert!(!chosen.stderr.contains("slices of devices"), "{chosen:?}");
    let kernels = run(&db, ["kernels", "list", "c1", "-o", "json"]).json();
    assert_eq!(
        kernels["items"][0]["occupied_slots"],
        serde_json::json!({"billing": "12", "cpu": "4", "mig.small": "2"})
    );
    let warning = "warning: slices of devices (gres/gpu:1g.5gb) count as whole devices in 1 row, first at line 2: \
                   --slot gres/gpu:1g.5gb=NAME makes them a slot of their own\n";
    for form in ["table", "json"] {
        let without_choice = run(&db, ["import", "sacct", &dump, "-o", form]);
        assert!(
            without_choice.stderr.contains(warning) && !without_choice.stdout.contains("warning: "),
            "{without_choice:?}"
        );
    }
    for wrong in [&["--slot", "energy"][..], &["--slot", "a b"], &["--slot", "billing", "--slot", "billing=x"]] {
        assert_eq!(run(&db, [&["import", "sacct", &dump], wrong].concat()).code, Some(2), "{wrong:?}");
    }
    assert!(run(&db, ["import", "swf", &dump, "--slot", "billing"]).refused(2).contains("--slot says nothing"));
}

#[tokio::test]
async fn slots_that_no_agent_has_are_named() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    run(&db, ["groups", "create", "east"]).ok();
    run(&db, ["agents", "set", "east", "n1", "--slot", "cpu=64"]).ok();
    let table = "job_id,user,project,start_time,end_time,cpu,gpu\n\
                 1,ann,ml,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,1\n\
                 2,ann,ml,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,2\n";
    let jobs = file(folder.path(), "jobs.csv", table);
    let report = run(&db, ["import", "csv", &jobs, "--resource-group", "east"]).stderr;
    let warnings: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
    let of_slot = warnings.iter().find(|line| line.contains("`cuda.device`")).unwrap_or_else(|| panic!("{report}"));
    assert!(of_slot.ends_with("agents have `cpu` (2 rows)"), "{report}");
}
