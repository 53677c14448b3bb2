//! Optional fields: an unreadable one is left out and counted by name, and the job is accepted.

use fairshared::cli::import::reason::DropReason;
use serde_json::json;

use super::{Outcome, at, read, skipped, slots};
use crate::support::plain::data;

const NAMES: &str = "JobID|Cluster|Partition|User|Account|State|Submit|Start|End|AllocTRES|Priority|Timelimit|Suspended|NodeList|ReqMem|AllocNodes|JobName";
const ROW: &str = "1|c1|cpu|ann|bio|COMPLETED|2026-11-20T09:00:00|2026-11-20T10:00:00|2026-11-20T11:00:00|cpu=4|10|01:00:00|00:00:00|n1|1G|1|run";

/// The row with another value in one field.
fn with(name: &str, value: impl AsRef<[u8]>) -> Outcome {
    let at = NAMES.split('|').position(|known| known == name).unwrap();
    let mut fields: Vec<&[u8]> = ROW.split('|').map(str::as_bytes).collect();
    fields[at] = value.as_ref();
    read("sacct", [NAMES.as_bytes(), b"\n", &fields.join(&b'|'), b"\n"].concat())
}

#[track_caller]
fn is_taken_without(outcome: Outcome, field: &str, held: &str) {
    assert_eq!(skipped(&outcome), [(field, 1)]);
    let said = outcome.summary.to_string();
    assert!(said.contains(&format!("field {field} left out of 1 row, first at ")), "{said}");
    let job = outcome.only_job();
    assert_eq!((job.user.as_str(), job.project.as_str(), slots(&job).as_str()), ("ann", "bio", held));
}

#[test]
fn a_field_of_a_dump_that_is_not_needed() {
    for (field, value) in [
        ("Priority", "-"),
        ("Priority", "high"),
        ("Priority", "-5"),
        ("Priority", "99999999999"),
        ("Submit", "yesterday"),
        ("Submit", "1960-01-01T00:00:00"),
        ("Timelimit", "long"),
        ("Timelimit", "-"),
        ("Suspended", "often"),
        ("Suspended", "-00:00:10"),
    ] {
        is_taken_without(with(field, value), field, "cpu=4");
    }
    is_taken_without(with("NodeList", "a/b"), "node", "cpu=4");
    is_taken_without(with("Partition", "a/b"), "queue", "cpu=4");
    // Words for none are no faults.
    for (field, value) in [("Timelimit", "UNLIMITED"), ("Timelimit", "Partition_Limit"), ("Submit", "Unknown")] {
        assert_eq!(skipped(&with(field, value)), [], "{field} {value}");
    }
}

#[test]
fn a_resource_with_a_unit_or_an_odd_one() {
    for (list, expected) in [
        ("bb/datawarp=20624M,cpu=4", "bb/datawarp=21625831424 cpu=4"),
        ("bb/datawarp=20624,cpu=4", "bb/datawarp=21625831424 cpu=4"),
        ("cpu=4,license/matlab=2K", "cpu=4 license/matlab=2048"),
        ("cpu=2K,mem=8G", "cpu=2048 mem=8589934592"),
        ("cpu=1.5K", "cpu=1536"),
        ("cpu=4,gres/gpu=1K", "cpu=4 cuda.device=1024"),
        ("cpu=4,mem=1Gn,node=1K", "cpu=4 mem=1099511627776"),
    ] {
        let outcome = with("AllocTRES", list);
        assert_eq!(skipped(&outcome), [], "{list}");
        assert_eq!(slots(&outcome.only_job()), expected, "{list}");
    }
    for (list, field, expected) in [
        ("cpu=4,gres/x=lots", "AllocTRES gres/x", "cpu=4"),
        ("cpu=4,fs/lustre=20TiB", "AllocTRES fs/lustre", "cpu=4"),
        ("cpu=4,gres/a b=1", "AllocTRES gres/a b", "cpu=4"),
        ("cpu=4,what", "AllocTRES", "cpu=4"),
        ("cpu=4,cpu=5", "AllocTRES cpu", "cpu=4"),
        ("cpu=4,mem=?", "AllocTRES mem", "cpu=4 mem=1073741824"),
        ("cpu=x,mem=8G", "AllocTRES cpu", "mem=8589934592"),
    ] {
        is_taken_without(with("AllocTRES", list), field, expected);
    }
    // The well-known slots stay where a row has more kinds than a kernel may hold.
    let many: Vec<String> = (0..80).map(|n| format!("gres/x{n}=1")).collect();
    let outcome = with("AllocTRES", format!("{},cpu=4,gres/gpu=2,mem=1G", many.join(",")));
    assert_eq!(skipped(&outcome).len(), 19);
    let job = outcome.only_job();
    let held = slots(&job);
    assert!(
        job.slots.len() == 64 && held.contains("cpu=4 cuda.device=2 ") && held.contains(" mem=1073741824"),
        "{held}"
    );
}

#[test]
fn an_odd_figure_of_the_other_columns() {
    let dump = |names: &str, values: &str| {
        let header = format!("JobID|User|Account|State|Start|End|{names}");
        read("sacct", format!("{header}\n1|ann|bio|COMPLETED|2026-11-20T10:00:00|2026-11-20T11:00:00|{values}\n"))
    };
    for (names, values, expected) in [
        ("AllocCPUS|ReqMem|AllocNodes", "8|1Gn|1K", "cpu=8 mem=1099511627776"),
        ("AllocCPUS|ReqMem|NNodes", "8|1Gn|1.5K", "cpu=8 mem=1649267441664"),
        ("AllocCPUS|ReqMem|AllocNodes", "2K|1Mc|16", "cpu=2048 mem=2147483648"),
        ("NCPUS|ReqMem|NNodes", "1M|1Kn|1M", "cpu=1048576 mem=1073741824"),
    ] {
        let outcome = dump(names, values);
        assert_eq!(skipped(&outcome), [], "{values}");
        assert_eq!(slots(&outcome.only_job()), expected, "{values}");
    }
    for (names, values, field, expected) in [
        ("AllocCPUS|ReqMem", "8|much", "ReqMem", "cpu=8"),
        ("AllocCPUS|ReqMem", "8|16GB", "ReqMem", "cpu=8"),
        ("AllocCPUS|ReqMem", "8|?", "ReqMem", "cpu=8"),
        ("AllocCPUS|ReqMem", "many|1G", "AllocCPUS", "mem=1073741824"),
        ("AllocCPUS|ReqMem|AllocNodes", "8|1Gn|some", "AllocNodes", "cpu=8 mem=1073741824"),
    ] {
        is_taken_without(dump(names, values), field, expected);
    }
}

#[test]
fn a_byte_that_is_not_utf_8() {
    is_taken_without(with("JobName", b"caf\xe9"), "JobName", "cpu=4");
    is_taken_without(with("NodeList", b"n\xff1"), "NodeList", "cpu=4");
    is_taken_without(with("Priority", b"\xff"), "Priority", "cpu=4");
    for (field, value) in
        [("User", b"andr\xe9".as_slice()), ("Account", b"\xe9cole"), ("Cluster", b"c\xff"), ("JobID", b"\xe97")]
    {
        let outcome = with(field, value);
        assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![DropReason::InvalidUtf8], 1), "{field}");
    }
    assert_eq!(with("Start", b"\xe9").reasons(), [DropReason::BadTime("Start")]);
    // The same in every format.
    let csv = b"job_id,user,project,start_time,end_time,cpu,note\n1,ann,bio,2026-11-20T10:00:00Z,2026-11-20T11:00:00Z,4,caf\xe9\n";
    is_taken_without(read("csv", csv.as_slice()), "note", "cpu=4");
    let pbs = b"11/20/2026 11:00:00;E;1.c1;user=ann group=bio jobname=caf\xe9 start=1795168800 end=1795172400 Resource_List.ncpus=4\n";
    is_taken_without(read("pbs", pbs.as_slice()), "jobname", "cpu=4");
    let mut json = br#"{"jobs": [{"job_id": 1, "user": "ann", "account": "bio", "name": "caf#", "partition": "p#", "state": {"current": "COMPLETED"},
        "cluster": "c1", "time": {"start": 1795168800, "end": 1795172400}, "tres": {"allocated": [{"type": "cpu", "count": 4}]}}]}"#
        .to_vec();
    json.iter_mut().filter(|byte| **byte == b'#').for_each(|byte| *byte = 0xe9);
    is_taken_without(read("sacct", json), "queue", "cpu=4");
    let swf = b"1 100 20 300 4 -1 -1 8 600 -1 1 ann bio -1 q\xe9 c1 -1 -1\n";
    is_taken_without(read("swf", swf.as_slice()), "queue", "cpu=4");
    let other = b"1 100 20 300 4 -1 -1 8 600 -1 1 ann bio -1 q c1 \xe9 -1\n";
    is_taken_without(read("swf", other.as_slice()), "text that is not UTF-8", "cpu=4");
}

#[test]
fn a_field_of_a_document_that_is_not_needed() {
    let job = json!({
        "job_id": 1, "user": "ann", "account": "bio", "cluster": "c1", "partition": "cpu", "priority": 10,
        "state": {"current": ["COMPLETED"]},
        "time": {"submission": 1_795_168_000, "start": 1_795_168_800, "end": 1_795_172_400, "elapsed": 3600, "suspended": 0, "limit": 60},
        "tres": {"allocated": [{"type": "cpu", "count": 4}, {"type": "gres", "name": "x", "count": 1}]},
    });
    for (pointer, value, field) in [
        ("/priority", json!("-"), "priority"),
        ("/time/submission", json!("soon"), "submission"),
        ("/time/suspended", json!("often"), "suspended"),
        ("/time/limit", json!("long"), "time limit"),
        ("/time/elapsed", json!("long"), "elapsed"),
        ("/time/end", json!("late"), "end"),
        ("/partition", json!("a/b"), "queue"),
    ] {
        let mut job = job.clone();
        *job.pointer_mut(pointer).unwrap() = value;
        is_taken_without(read("sacct", json!({"jobs": [job]}).to_string()), field, "cpu=4 gres/x=1");
    }
    for (count, name) in [(json!(-4), "x"), (json!("lots"), "x"), (json!(u64::MAX), "x"), (json!(1), "a b")] {
        let mut job = job.clone();
        job["tres"]["allocated"][1] = json!({"type": "gres", "name": name, "count": count});
        is_taken_without(read("sacct", json!({"jobs": [job]}).to_string()), &format!("tres gres/{name}"), "cpu=4");
    }
}

#[test]
fn a_field_of_a_table_that_is_not_needed() {
    let table = |submit: &str, domain: &str, cpu: &str, mem: &str| {
        read(
            "csv",
            format!(
                "job_id,user,project,domain,submit_time,start_time,end_time,cpu,mem_gib,session_id\n\
                 1,ann,bio,{domain},{submit},2026-11-20T10:00:00Z,2026-11-20T11:00:00Z,{cpu},{mem},s1"
            ),
        )
    };
    is_taken_without(table("yesterday", "d", "4", ""), "submit_time", "cpu=4");
    is_taken_without(table("", "d/e", "4", ""), "domain", "cpu=4");
    is_taken_without(table("", "d", "4", "inf"), "mem_gib", "cpu=4");
    is_taken_without(table("", "d", "-8", "1"), "cpu", "mem=1073741824");
    assert_eq!(table("", "d/e", "4", "").only_job().domain, "unknown");
}

#[test]
fn an_attribute_of_a_record_that_is_not_needed() {
    let owner = "user=ann group=bio queue=batch start=1795168800 end=1795172400";
    for (facts, field, held) in [
        ("Resource_List.ncpus=4 ctime=soon", "ctime", "cpu=4"),
        ("Resource_List.ncpus=4 Resource_List.mem=lots", "Resource_List.mem", "cpu=4"),
        ("Resource_List.ncpus=4 Resource_List.walltime=long", "Resource_List.walltime", "cpu=4"),
        ("Resource_List.ncpus=4 Resource_List.ngpus=two", "Resource_List.ngpus", "cpu=4"),
        ("Resource_List.ncpus=4 exec_host=n1/x*y", "exec_host", "cpu=4"),
        ("exec_host=n1/0*4 exec_vnode=(n1:ncpus=x)", "exec_vnode", "cpu=4"),
    ] {
        is_taken_without(read("pbs", format!("11/20/2026 11:00:00;E;1.c1;{owner} {facts}\n")), field, held);
    }
    let row = "1 100 20 300 4 -1 -1 8 600 64 1 ann bio -1 2 c1 -1 -1";
    for (from, to, field, held) in [
        (" 4 -1 -1 8 ", " four -1 -1 8 ", "allocated processors", "cpu=8 mem=524288"),
        (" 64 1 ann", " much 1 ann", "requested memory", "cpu=4"),
        (" 8 600 ", " 8 long ", "requested time", "cpu=4 mem=262144"),
    ] {
        is_taken_without(read("swf", row.replace(from, to)), field, held);
    }
}

#[test]
fn what_is_needed_is_needed() {
    for (field, value, reason) in [
        ("User", "a\u{7}n", DropReason::BadName("user")),
        ("Account", "\u{7}", DropReason::BadName("project")),
        ("Start", "soon", DropReason::BadTime("Start")),
        ("End", "late", DropReason::BadTime("End")),
    ] {
        let outcome = with(field, value);
        assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![reason], 1), "{field}");
        let said = outcome.summary.to_string();
        assert!(
            said.contains("1 dropped row is of jobs that ran or may have run: what they used is missing"),
            "{said}"
        );
    }
    // A job that never started used nothing.
    let never = read(
        "sacct",
        format!(
            "{NAMES}\n{}\n",
            ROW.replace("|ann|", "|a\u{7}n|").replace("COMPLETED", "CANCELLED").replace("2026-11-20T10:00:00", "None")
        ),
    );
    assert_eq!((never.reasons(), never.summary.dropped_started), (vec![DropReason::BadName("user")], 0));
    let waiting =
        read("sacct", format!("{NAMES}\n{}\n", ROW.replace("COMPLETED", "PENDING").replace("|ann|", "|a\u{7}n|")));
    assert_eq!((waiting.reasons(), waiting.summary.dropped_started), (vec![DropReason::NotStarted], 0));
}

#[test]
fn the_handed_rows_are_taken() {
    let Some(data) = data() else { return };
    for (file, expected, left_out) in [
        ("01-one-resource-drops-the-row.sacct.txt", "bb/datawarp=21625831424 cpu=4 mem=8589934592", &[][..]),
        ("19-optional-field-drops-the-row.sacct.txt", "cpu=4", &[("Priority", 1)]),
    ] {
        let outcome = read("sacct", std::fs::read(data.join("odd-accounting").join(file)).unwrap());
        assert_eq!(skipped(&outcome), left_out, "{file}");
        let job = outcome.only_job();
        assert_eq!((job.user.as_str(), slots(&job).as_str()), ("ann", expected), "{file}");
        assert_eq!(job.terminated_at, Some(at("2026-11-20T11:00:00Z")), "{file}");
    }
}
