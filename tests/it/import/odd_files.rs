//! Unusual files: rows without an owner, header lines in between, lists of partitions, repeated keys.

use fairshared::cli::import::reason::DropReason;
use serde_json::{Value, json};

use super::{Outcome, read, skipped, slots};
use crate::support::plain::data;

const HEADER: &str = "JobID|Cluster|User|Account|State|Start|End|AllocTRES";
const START: &str = "2026-11-20T10:00:00";
const END: &str = "2026-11-20T11:00:00";

fn row(id: u32, user: &str, account: &str) -> String {
    format!("{id}|c1|{user}|{account}|COMPLETED|{START}|{END}|cpu=4")
}

fn users(outcome: &Outcome) -> Vec<(&str, &str)> {
    outcome.jobs.iter().map(|job| (job.user.as_str(), job.project.as_str())).collect()
}

#[test]
fn rows_without_an_owner_are_counted_and_named() {
    let rows = [
        row(1, "", "bio"),
        row(2, "ann", ""),
        row(3, "", ""),
        row(4, "ann", "bio"),
        row(5, "", "bio"),
        row(6, "", "bio"),
    ];
    let outcome = read("sacct", format!("{HEADER}\n{}\n", rows.join("\n")));
    assert_eq!(
        (outcome.summary.taken, outcome.summary.without_user.rows, outcome.summary.without_project.rows),
        (6, 4, 2)
    );
    let said = outcome.summary.to_string();
    for sentence in [
        "  4 rows name no user, first at line 2, and count for the user unknown: job 1, 3, 5, ...\n",
        "  2 rows name no project, first at line 3, and count for the project unknown: job 2, 3\n",
    ] {
        assert!(said.contains(sentence), "{said}");
    }
    let one = read("swf", "7 100 20 300 4 -1 -1 8 600 -1 1 -1 6 -1 2 3 -1 -1");
    assert!(one.summary.to_string().contains("  1 row names no user, first at line 1, and count"), "{}", one.summary);
}

#[test]
fn words_for_no_owner_make_no_users_and_no_projects() {
    for word in
        ["(null)", "null", "NULL", "N/A", "n/a", "None", "none", "Unknown", "UNKNOWN", "unknown", "undefined", "-"]
    {
        let outcome = read("sacct", format!("{HEADER}\n{}\n", row(1, word, word)));
        let owners = (outcome.summary.without_user.rows, outcome.summary.without_project.rows);
        assert_eq!((owners, users(&outcome)), ((1, 1), vec![("unknown", "unknown")]), "{word}");
        let table = format!(
            "job_id,user,project,domain,resource_group,start_time,end_time,cpu\n1,{word},{word},{word},{word},{START}Z,{END}Z,4"
        );
        let job = read("csv", table).only_job();
        let names = [job.user, job.project, job.domain, job.resource_group];
        assert!(names.iter().all(|name| name == "unknown"), "{names:?}");
        let job = document(&json!({"user": word, "account": word, "cluster": word})).only_job();
        assert_eq!(
            (job.user.as_str(), job.project.as_str(), job.resource_group.as_str()),
            ("ann", "bio", "c2"),
            "{word}"
        );
        let lacks_cluster =
            read("sacct", format!("Partition|{HEADER}\nlong|{}\n", row(1, "ann", "bio").replace("c1", word)));
        assert_eq!(lacks_cluster.only_job().resource_group, "long", "{word}");
    }
    for name in ["nobody", "root", "nan", "nonesuch", "default", "1001"] {
        let outcome = read("sacct", format!("{HEADER}\n{}\n", row(1, name, name)));
        assert_eq!(users(&outcome), [(name, name)]);
        assert_eq!((outcome.summary.without_user.rows, outcome.summary.without_project.rows), (0, 0), "{name}");
    }
}

fn document(changes: &Value) -> Outcome {
    let mut job = json!({
        "job_id": 1, "account": "", "user": null, "cluster": "c1", "state": {"current": ["COMPLETED"]},
        "association": {"account": "bio", "cluster": "c2", "partition": "", "user": "ann"},
        "time": {"start": 1_795_168_800, "end": 1_795_172_400}, "tres": {"allocated": [{"type": "cpu", "count": 4}]},
    });
    job.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    read("sacct", json!({"jobs": [job]}).to_string())
}

#[test]
fn the_association_names_the_owner_where_the_job_does_not() {
    for (changes, owner, group) in [
        (json!({}), ("ann", "bio"), "c1"),
        (json!({"user": "", "account": null, "cluster": ""}), ("ann", "bio"), "c2"),
        (json!({"user": "bob"}), ("bob", "bio"), "c1"),
        (json!({"account": "ml"}), ("ann", "ml"), "c1"),
        (json!({"association": null}), ("unknown", "unknown"), "c1"),
        (json!({"association": {"user": "ann"}}), ("ann", "unknown"), "c1"),
    ] {
        let job = document(&changes).only_job();
        assert_eq!(
            (job.user.as_str(), job.project.as_str(), job.resource_group.as_str()),
            (owner.0, owner.1, group),
            "{changes}"
        );
    }
}

#[test]
fn a_second_header_line_replaces_the_columns() {
    for second in [
        // The same, another order, other letters, and another separator.
        format!("{HEADER}\n{}", row(2, "bob", "ml")),
        format!("Account|User|JobID|Cluster|State|Start|End|AllocTRES\nml|bob|2|c1|COMPLETED|{START}|{END}|cpu=4"),
        format!(
            "user|account|jobid|state|start|end|alloctres|cluster|extra\nbob|ml|2|COMPLETED|{START}|{END}|cpu=4|c1|x"
        ),
        format!("{HEADER}\n{}", row(2, "bob", "ml")).replace('|', ","),
        format!("{HEADER}|\n{}|", row(2, "bob", "ml")),
    ] {
        let outcome = read("sacct", format!("{HEADER}\n{}\n{second}\n", row(1, "ann", "bio")));
        assert_eq!(users(&outcome), [("ann", "bio"), ("bob", "ml")], "{second}");
        assert_eq!(outcome.summary.dropped_rows(), 0, "{second}");
    }
    let first = "job_id,user,project,start_time,end_time,cpu\n1,ann,bio,2026-11-20T10:00:00Z,2026-11-20T11:00:00Z,4";
    let second = "user,project,job_id,end_time,start_time\nbob,ml,2,2026-11-20T11:00:00Z,2026-11-20T10:00:00Z";
    assert_eq!(users(&read("csv", format!("{first}\n{second}\n"))), [("ann", "bio"), ("bob", "ml")]);
}

#[test]
fn a_second_header_line_that_lacks_fields_drops_the_rows_below_it() {
    let bad = format!("JobID|User|State|Start|End|Extra|Other|Last\n2|bob|COMPLETED|{START}|{END}|a|b|c");
    let text = format!("{HEADER}\n{}\n{bad}\n{HEADER}\n{}\n", row(1, "ann", "bio"), row(3, "cleo", "ml"));
    let outcome = read("sacct", text);
    assert_eq!(users(&outcome), [("ann", "bio"), ("cleo", "ml")]);
    assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![DropReason::HeaderIncomplete], 1));
    // A user may be called like a field.
    let named = read("sacct", format!("{HEADER}\n{}\n", row(1, "User", "Account")));
    assert_eq!(users(&named), [("User", "Account")]);
}

#[test]
fn a_list_of_partitions_is_no_resource_group() {
    let dump = |partition: &str, state: &str, start: &str, nodes: &str| {
        let header = "JobID|Partition|User|Account|State|Start|End|AllocTRES|NodeList";
        read("sacct", format!("{header}\n1|{partition}|ann|bio|{state}|{start}|{END}|cpu=4|{nodes}\n"))
    };
    for (state, start, nodes) in [
        ("CANCELLED by 1001", "None", "None assigned"),
        ("CANCELLED", "Unknown", ""),
        // Versions of Slurm give a start to a job that was cancelled while it waited.
        ("CANCELLED", END, "None assigned"),
    ] {
        let outcome = dump("debug,high", state, start, nodes);
        assert_eq!(skipped(&outcome), [], "{start}");
        let job = outcome.only_job();
        assert_eq!((job.started_at, job.resource_group.as_str(), job.queue), (None, "unknown", None), "{start}");
    }
    // A job that ran is charged, although the row does not say where.
    let outcome = dump("debug,high", "COMPLETED", START, "n1");
    assert_eq!(skipped(&outcome), [("Partition", 1)]);
    let job = outcome.only_job();
    assert_eq!((job.resource_group.as_str(), slots(&job).as_str()), ("unknown", "cpu=4"));
    assert_eq!(dump("high", "COMPLETED", START, "n1").only_job().resource_group, "high");
}

#[test]
fn the_first_value_of_a_key_of_a_record_counts() {
    for (facts, owner) in [
        ("user=ann group=bio jobname=x user=bob", ("ann", "bio")),
        ("user=ann group=bio account=ml jobname=a account=other", ("ann", "ml")),
        ("user= user=ann group=bio", ("ann", "bio")),
        ("user=ann group=bio comment=\"user=bob group=ml\"", ("ann", "bio")),
        ("user=ann group=bio comment=my user=bob group=ml", ("ann", "bio")),
    ] {
        let times = "start=1795168800 end=1795172400 Resource_List.ncpus=4";
        let outcome = read("pbs", format!("11/20/2026 11:00:00;E;1.c1;{facts} {times} end=1795179600\n"));
        assert_eq!(users(&outcome), [owner], "{facts}");
        assert_eq!(outcome.only_job().terminated_at, Some(super::at("2026-11-20T11:00:00Z")), "{facts}");
    }
}

#[test]
fn the_handed_files_are_read() {
    let Some(data) = data() else { return };
    let file = |name: &str| read("sacct", std::fs::read(data.join("odd-accounting").join(name)).unwrap());
    let job = file("08-owner-only-in-association.sacct.json").only_job();
    assert_eq!((job.user.as_str(), job.project.as_str(), slots(&job).as_str()), ("ann", "bio", "cpu=4"));
    let never = file("11-partition-list-becomes-a-group.sacct.txt").only_job();
    assert_eq!((never.started_at, never.queue), (None, None));
    assert_ne!(never.resource_group, "debug,high");
}
