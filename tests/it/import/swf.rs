//! Logs in the Standard Workload Format.

use fairshared::cli::import::reason::DropReason;
use fairshared::cli::import::{MemoryUnit, TraceOptions};

use super::{at, read, read_with, refused, slots};

const HEADER: &str =
    "; Version: 2.2\n; UnixStartTime: 1000000\n; Partition:  3 site.example.org   \n; Queue: 2 short\n";

/// A row of 18 fields from `field=value` changes to a plain one.
fn row(changes: &[(usize, &str)]) -> String {
    let mut fields: Vec<&str> = "7 100 20 300 4 -1 -1 8 600 -1 1 5 6 -1 2 3 -1 -1".split(' ').collect();
    for (at, value) in changes {
        fields[*at - 1] = value;
    }
    fields.join(" ")
}

#[test]
fn a_row_becomes_a_job() {
    let job = read("swf", format!("{HEADER}   {}\n", row(&[]).replace(' ', "   "))).only_job();
    assert_eq!((job.job_key.as_str(), job.session_key.as_str()), ("7", "7"));
    assert_eq!((job.user.as_str(), job.project.as_str(), job.domain.as_str()), ("u5", "vo6", "unknown"));
    assert_eq!((job.resource_group.as_str(), job.queue.as_deref()), ("site.example.org", Some("short")));
    assert_eq!(job.submitted_at, Some(at("1970-01-12T13:48:20Z")));
    assert_eq!(job.started_at, Some(at("1970-01-12T13:48:40Z")));
    assert_eq!(job.terminated_at, Some(at("1970-01-12T13:53:40Z")));
    assert_eq!((slots(&job).as_str(), job.agents.only()), ("cpu=4", None));
}

#[test]
fn unknown_is_minus_one() {
    let job = read("swf", format!("{HEADER}{}", row(&[(3, "-1")]))).only_job();
    assert_eq!(job.started_at, job.submitted_at);
    let job = read("swf", row(&[(12, "-1"), (13, "-1"), (15, "-1"), (16, "-1")])).only_job();
    assert_eq!((job.user.as_str(), job.project.as_str()), ("unknown", "unknown"));
    assert_eq!((job.resource_group.as_str(), job.queue), ("unknown", None));
    let job = read("swf", row(&[])).only_job();
    assert_eq!((job.resource_group.as_str(), job.queue.as_deref()), ("partition3", Some("q2")));
    assert_eq!(job.started_at, Some(at("1970-01-01T00:02:00Z")), "no header: submit is absolute");
    assert_eq!(slots(&read("swf", row(&[(5, "-1")])).only_job()), "cpu=8");
    let outcome = read("swf", row(&[(5, "-1"), (8, "-1"), (10, "64")]));
    assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![DropReason::NoAmount], 1));
}

#[test]
fn memory_in_every_unit() {
    let listed = "{11,11,12,12} q_x 2:ppn=2";
    for (unit, used, requested, tail, expected) in [
        (MemoryUnit::KibPerProcessor, "-1", "512", "", "cpu=4 mem=2097152"),
        (MemoryUnit::KibPerProcessor, "512", "-1", "", "cpu=4 mem=2097152"),
        (MemoryUnit::KibPerProcessor, "512", "0", "", "cpu=4 mem=2097152"),
        (MemoryUnit::KibPerProcessor, "100", "512", "", "cpu=4 mem=2097152"),
        (MemoryUnit::KibPerProcessor, "0.25", "-1", "", "cpu=4 mem=1024"),
        (MemoryUnit::BytesPerJob, "-1", "4096", listed, "cpu=4 mem=4096"),
        (MemoryUnit::BytesPerNode, "1024", "4096", listed, "cpu=4 mem=8192"),
        (MemoryUnit::BytesPerNode, "-1", "4096", "", "cpu=4 mem=4096"),
    ] {
        let options = TraceOptions { swf_memory: unit, ..TraceOptions::default() };
        let line = format!("{} {tail}", row(&[(7, used), (10, requested)]));
        assert_eq!(slots(&read_with("swf", line, &options).only_job()), expected, "{unit:?} {used} {requested}");
    }
}

#[test]
fn the_extended_form_names_nodes_and_queue() {
    for (tail, agent, queue) in [
        ("{1241,1241} q_1d 1:ppn=2", Some("node1241"), "q_1d"),
        ("{1241, 1242} q_1d", None, "q_1d"),
        ("{gpu-3}", Some("gpu-3"), "q2"),
        ("{}", None, "q2"),
        ("extra fields", None, "q2"),
    ] {
        let job = read("swf", format!("{} {tail}\n", row(&[]))).only_job();
        assert_eq!((job.agents.only().map(String::as_str), job.queue.as_deref()), (agent, Some(queue)), "{tail}");
    }
    let open = read("swf", format!("{} {{1,2", row(&[])));
    assert_eq!(super::skipped(&open), [("node list", 1)]);
    assert_eq!(open.only_job().agents.only(), None);
}

#[test]
fn bad_rows_are_dropped_with_a_reason() {
    for (line, reason) in [
        (row(&[(4, "-1")]), DropReason::NoRunTime),
        (row(&[(4, "-1359981026")]), DropReason::NoRunTime),
        (row(&[(3, "-2")]), DropReason::NegativeWait),
        (row(&[(2, "-1")]), DropReason::BadTime("submit time")),
        (row(&[(2, "x")]), DropReason::BadNumber("submit time")),
        (row(&[(2, "9223372036854775807")]), DropReason::BadTime("submit time")),
        (row(&[(4, "9223372036854775807")]), DropReason::BadTime("end")),
        (row(&[(5, "four"), (8, "-1")]), DropReason::BadNumber("allocated processors")),
        (row(&[(4, "-1"), (11, "5")]), DropReason::CancelledBeforeStart),
        (row(&[(3, "-0.5")]), DropReason::NegativeWait),
        (row(&[(11, "2")]), DropReason::PartialRun),
        (row(&[(11, "3")]), DropReason::PartialRun),
        (row(&[(11, "4")]), DropReason::PartialRun),
        (row(&[(12, "an\u{7}n")]), DropReason::BadName("user")),
        (row(&[]).replace(" 6 ", " ; "), DropReason::FieldCount),
        ("1 2 3".to_owned(), DropReason::FieldCount),
    ] {
        assert_eq!(read("swf", line.clone()).reasons(), [reason], "{line}");
    }
}

#[test]
fn comments_and_blank_lines_are_no_rows() {
    let text = format!("\n{HEADER};\n; Note: caf\u{e9}\n\n{}\n", row(&[]));
    assert_eq!(read("swf", text.clone()).summary.rows, 1);
    let latin1: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let outcome = read("swf", latin1);
    assert_eq!((outcome.summary.rows, outcome.summary.taken), (1, 1));
    // A name that cannot be one is not used, be it a resource group or a queue.
    let job = read("swf", format!("; Partition: 3 a/b\n; Queue: 2 c/d\n{}", row(&[]))).only_job();
    assert_eq!((job.resource_group.as_str(), job.queue.as_deref()), ("partition3", Some("q2")));
    let job = read("swf", format!("{} {{1}} c/d", row(&[]))).only_job();
    assert_eq!(job.queue, None);
}

#[test]
fn a_header_names_a_bounded_number_of_partitions() {
    let names: Vec<_> = (0..10_001).map(|n| format!("; Partition: {n} site{n}\n")).collect();
    let text = format!("{}{}\n{}", names.concat(), row(&[(16, "9999")]), row(&[(16, "10000")]));
    let groups: Vec<_> = read("swf", text).jobs.into_iter().map(|job| job.resource_group).collect();
    assert_eq!(groups, ["site9999", "partition10000"]);
}

#[test]
fn decimals_names_and_other_separators() {
    let job = read("swf", format!("{HEADER}{}", row(&[(2, "100.25"), (3, "-1.0"), (4, "0.5"), (5, "4.5")]))).only_job();
    assert_eq!(job.started_at, Some(at("1970-01-12T13:48:20.25Z")));
    assert_eq!(job.terminated_at, Some(at("1970-01-12T13:48:20.75Z")));
    assert_eq!(slots(&job), "cpu=4.5");
    let memory = read("swf", row(&[(5, "1.5"), (10, "0.5")])).only_job();
    assert_eq!(slots(&memory), "cpu=1.5 mem=768");
    let named = row(&[(12, "ann"), (13, "physics"), (15, "night"), (16, "alpha")]);
    for line in [
        named.clone(),
        named.replace(' ', ";"),
        named.replace(' ', " ; "),
        format!("{named} ; 6 am"),
        named.replace(' ', "\t"),
    ] {
        let job = read("swf", format!("{HEADER}{line}")).only_job();
        assert_eq!((job.user.as_str(), job.project.as_str()), ("ann", "physics"), "{line}");
        assert_eq!((job.resource_group.as_str(), job.queue.as_deref()), ("alpha", Some("night")), "{line}");
    }
    assert_eq!(read("swf", row(&[(12, "5.0"), (13, "-1.0")])).only_job().user, "u5");
}

#[test]
fn the_start_of_the_log_may_be_explained_but_never_guessed() {
    for header in [
        "; UnixStartTime: 1000000 (Mon Jan 12 13:46:40 UTC 1970)",
        ";UnixStartTime:1000000.0",
        ";\tUnixStartTime :\t1000000",
    ] {
        let job = read("swf", format!("{header}\n{}", row(&[]))).only_job();
        assert_eq!(job.submitted_at, Some(at("1970-01-12T13:48:20Z")), "{header}");
    }
    let error = "line 2: UnixStartTime is not a number of seconds since 1970";
    for value in ["soon", "", "-1", "(Mon Jan 12)"] {
        assert_eq!(refused("swf", format!("; Version: 2\n; UnixStartTime: {value}\n{}", row(&[]))), error, "{value}");
    }
}
