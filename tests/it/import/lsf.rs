//! `lsb.acct` of several versions.

use fairshared::cli::import::reason::DropReason;

use super::{Outcome, at, read, slots};

const START: &str = "2026-02-02T02:50:00Z";
const END: &str = "2026-02-02T03:50:00Z";
/// The fields that every version writes after the maximum memory.
const MIDDLE: &str = r#"0 "" "" "" "" 0 "" 0 "" 0 "/users/ann" "" "" "" 0 "" "" 4 "" 0 "" "a ""fine"" job""#;

/// A finished hour; what stands in braces is filled in.
fn record(hosts: &str, memory: &str, tail: &str) -> String {
    let rusage = "-1.000000 ".repeat(19);
    format!(
        r#""JOB_FINISH" "10.1" 1770004200 4711 1001 33554438 4 1770000000 0 0 1770000600 "ann" "night" "select[type==any]" "" "" "login" "work/ann dir" "" "out" "" "1770000000.4711" 0 {hosts} 64 12.0 "run ""a"" b" "./run -x ""a b"" ; echo 1" {rusage}"" "physics" 0 4 "/bin/sh" "" 0 {memory} {MIDDLE} {tail}"#
    )
}

fn one(line: impl Into<String>) -> Outcome {
    read("lsf", line.into())
}

#[test]
fn a_finish_becomes_a_job() {
    let job = one(record(r#"4 "hostA" "hostA" "hostA" "hostB""#, "2048", "0 0")).only_job();
    assert_eq!(job.job_key, format!("4711@{}", at(START).micros() / 1_000_000));
    assert_eq!((job.session_key.as_str(), job.resource_group.as_str()), ("4711", "night"));
    assert_eq!((job.user.as_str(), job.project.as_str(), job.queue.as_deref()), ("ann", "physics", Some("night")));
    assert_eq!(job.submitted_at, Some(at("2026-02-02T02:40:00Z")));
    assert_eq!((job.started_at, job.terminated_at), (Some(at(START)), Some(at(END))));
    assert_eq!((slots(&job).as_str(), job.agents.only()), ("cpu=4 mem=2097152", None));
}

#[test]
fn hosts_may_be_counted_and_memory_unknown() {
    let job = one(record(r#"2 "16*hostA" "hostB""#, "-1", "")).only_job();
    assert_eq!((slots(&job).as_str(), job.agents.only().map(String::as_str)), ("cpu=17", None));
    let job = one(record(r#"1 "8*hostA""#, "0", "")).only_job();
    assert_eq!((slots(&job).as_str(), job.agents.only().map(String::as_str)), ("cpu=8", Some("hostA")));
    // Hosts that were asked for stand before those that it got.
    let asked = record(r#"1 "hostC""#, "0", "").replace(r#"4711" 0 1"#, r#"4711" 2 "hostC" "hostD" 1"#);
    assert_eq!(one(asked).only_job().agents.only().map(String::as_str), Some("hostC"));
}

#[test]
fn the_newest_version_tells_slots_gpus_and_time_in_run() {
    let tail = r#"1 "key" "a value" 1 "hostA" 100 200 3.0 4.0 256 -1 900 "select[ngpus>0] rusage[ngpus_physical=2.00:mem=1]" "" -1 "" -1 0 0 0 0 "" 3000 "sub" 0 "" -1.0 0.0 0.0 0.0 0.0 2 "16*hostA" "16*hostB" 0 0 0"#;
    let job = one(record(r#"2 "hostA" "hostB""#, "0", tail)).only_job();
    assert_eq!(slots(&job), "cpu=32 cuda.device=4");
    // 600 of its 3,600 s it was suspended.
    assert_eq!(job.terminated_at, Some(at("2026-02-02T03:40:00Z")));
    // Version 9.1 had less and in another order.
    let job = one(record(r#"2 "hostA" "hostB""#, "0", r#"0 256 -1 0 "rusage[ngpus_physical=1.00]" 0 3000"#)).only_job();
    assert_eq!((slots(&job).as_str(), job.terminated_at), ("cpu=2 cuda.device=2", Some(at("2026-02-02T03:40:00Z"))));
    // A tail that is cut off or unreadable has no other effect.
    for tail in ["", "9", r#"0 0 256 -1 900 "rusage"#] {
        assert_eq!(one(record(r#"2 "hostA" "hostB""#, "0", tail)).only_job().terminated_at, Some(at(END)), "{tail}");
    }
}

#[test]
fn tasks_of_an_array_and_jobs_that_never_ran() {
    let row = record(r#"1 "hostA""#, "0", "");
    let task = one(row.replace(r#""/bin/sh" "" 0 0"#, r#""/bin/sh" "" 7 0"#)).only_job();
    assert_eq!((task.session_key.as_str(), task.job_key.split('@').next()), ("4711", Some("4711[7]")));
    let cancelled = row.replace(" 64 12.0 ", " 32 12.0 ");
    let never = one(cancelled.replace(" 1770000600 ", " 0 ").replace(r#"0 1 "hostA""#, "0 0")).only_job();
    assert_eq!((never.started_at, never.terminated_at, slots(&never).as_str()), (None, Some(at(END)), ""));
    // The run time gives the start, and a job that is done has started.
    let tail = r#"0 256 -1 0 "rusage" 0 3000"#;
    let ran = one(record(r#"1 "hostA""#, "0", tail).replace(" 1770000600 ", " 0 ")).only_job();
    assert_eq!((ran.started_at, ran.terminated_at), (Some(at("2026-02-02T03:00:00Z")), Some(at(END))));
    let done = one(row.replace(" 1770000600 ", " 0 "));
    assert_eq!((done.reasons(), done.summary.dropped_started), (vec![DropReason::StartMissing], 1));
    let without_hosts = one(row.replace(r#"0 1 "hostA""#, "0 0"));
    assert_eq!((without_hosts.reasons(), without_hosts.summary.dropped_started), (vec![DropReason::NoAmount], 1));
}

#[test]
fn other_records_are_no_rows_and_broken_ones_have_a_reason() {
    let row = record(r#"1 "hostA""#, "0", "");
    let other =
        r#""EVENT_ADRSV_FINISH" "10.1" 1770004200 1770000600 33816583 1001 "ann" 0 "user1#0" "ann" 1 1 "hostA 1" 0"#;
    let resized = r#""JOB_RESIZE" "10.1" 1770004200 4711 0 1770004000"#;
    assert_eq!(one(format!("{other}\n# comment\n\n{resized}\n{row}")).summary.rows, 1);
    for other in [r#""JOB_NEW" "10.1" 1770000000 4711 1001"#, "job_id,user"] {
        let outcome = one(format!("{other}\n{row}"));
        assert_eq!((outcome.reasons(), outcome.summary.taken), (vec![DropReason::OtherRecord], 1), "{other}");
    }
    for (line, reason) in [
        (r#""JOB_FINISH" "10.1" 1770004200"#.to_owned(), DropReason::FieldCount),
        (row[..row.find("echo").unwrap()].to_owned(), DropReason::FieldCount),
        ("\"JOB_FINISH 10.1".to_owned(), DropReason::FieldCount),
        (row.replace("4711 1001", "x 1001"), DropReason::BadNumber("job id")),
        (row.replace(r#"1 "hostA""#, r#"1 "x*hostA""#), DropReason::BadNumber("execution hosts")),
        (row.replace(r#"1 "hostA""#, r#"-5 "hostA""#), DropReason::BadNumber("execution hosts")),
        (row.replace(r#"1 "hostA""#, r#"4000000000 "hostA""#), DropReason::FieldCount),
        (row.replace("1770004200", "1769990000"), DropReason::EndBeforeStart),
        (row.replace("1770004200", "9223372036854775807"), DropReason::BadTime("event time")),
    ] {
        let outcome = one(line.clone());
        assert_eq!((outcome.reasons(), outcome.summary.taken), (vec![reason], 0), "{line}");
    }
    // A command may be in any encoding.
    let mut bytes = row.into_bytes();
    let at = bytes.windows(6).position(|w| w == b"echo 1").unwrap();
    bytes[at] = 0xe9;
    assert_eq!(read("lsf", bytes).summary.taken, 1);
}

#[test]
fn a_field_that_is_not_needed_is_left_out_and_counted() {
    let row = record(r#"2 "hostA" "hostB""#, "2048", "");
    for (line, field, held) in [
        (row.replace(" 1770000000 0 0 ", " soon 0 0 "), "submit time", "cpu=2 mem=2097152"),
        (record(r#"2 "hostA" "hostB""#, "much", ""), "maxRMem", "cpu=2"),
        (record(r#"2 "x*hostA" "hostB""#, "2048", ""), "execution hosts", "mem=2097152"),
    ] {
        let outcome = one(line);
        assert_eq!(super::skipped(&outcome), [(field, 1)]);
        assert_eq!(slots(&outcome.only_job()), held, "{field}");
    }
    // Older versions have other names for GPUs.
    for (requirement, held) in [
        ("rusage[ngpus_excl_p=2]", "cpu=2 cuda.device=4"),
        ("select[ngpus>0] rusage[mem=1:ngpus=1]", "cpu=2 cuda.device=2"),
        ("select[ngpus==2]", "cpu=2"),
    ] {
        let line = record(r#"2 "hostA" "hostB""#, "0", "").replace("select[type==any]", requirement);
        assert_eq!(slots(&one(line).only_job()), held, "{requirement}");
    }
}
