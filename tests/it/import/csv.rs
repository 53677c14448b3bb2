//! CSV files of jobs.

use fairshared::cli::import::reason::DropReason;

use super::{Outcome, at, read, refused, skipped, slots};

const HEADER: &str =
    "job_id,session_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu,mem_gib,gpu,state";
const GOOD: &str =
    "j1,s1,ann,physics,science,alpha,2026-02-01T07:00:00Z,2026-02-01T08:00:00Z,2026-02-01T09:00:00Z,8,1.5,2,COMPLETED";

fn table(rows: &[&str]) -> Outcome {
    read("csv", format!("{HEADER}\n{}\n", rows.join("\n")))
}

#[test]
fn a_row_becomes_a_job() {
    let job = table(&[GOOD]).only_job();
    assert_eq!((job.job_key.as_str(), job.session_key.as_str()), ("j1", "s1"));
    assert_eq!((job.user.as_str(), job.project.as_str(), job.domain.as_str()), ("ann", "physics", "science"));
    assert_eq!(job.resource_group, "alpha");
    assert_eq!(job.submitted_at, Some(at("2026-02-01T07:00:00Z")));
    assert_eq!(job.started_at, Some(at("2026-02-01T08:00:00Z")));
    assert_eq!(job.terminated_at, Some(at("2026-02-01T09:00:00Z")));
    assert_eq!(slots(&job), "cpu=8 cuda.device=2 mem=1610612736");
}

#[test]
fn the_header_decides_the_order() {
    let text =
        "gpu,end_time,start_time,project,user,job_id\n2,2026-02-01T09:00:00Z,2026-02-01T08:00:00Z,physics,ann,j1";
    let job = read("csv", text).only_job();
    assert_eq!((job.user.as_str(), job.project.as_str(), slots(&job).as_str()), ("ann", "physics", "cuda.device=2"));
    assert_eq!((job.session_key.as_str(), job.resource_group.as_str()), ("j1", "unknown"));
    assert_eq!(refused("csv", "job_id,user\n"), "the header line lacks the fields project, start_time, end_time");
    assert_eq!(refused("csv", "\"job_id,user\n"), "the header line is a quote that the line does not close");
}

#[test]
fn empty_is_unknown_and_never_invented() {
    let outcome = table(&["j1,,,,,,,2026-02-01T08:00:00Z,,,,,"]);
    assert_eq!(outcome.summary.unmeasured, 1);
    let job = outcome.only_job();
    assert_eq!((job.user.as_str(), job.project.as_str(), job.domain.as_str()), ("unknown", "unknown", "unknown"));
    assert_eq!((job.resource_group.as_str(), job.session_key.as_str()), ("unknown", "j1"));
    assert_eq!((job.submitted_at, job.terminated_at, slots(&job).as_str()), (None, None, ""));
    assert_eq!((job.agents.only(), job.queue), (None, None));
    let never_ran = table(&["j1,,ann,,,,,,2026-02-01T08:00:00Z,4,,,CANCELLED"]).only_job();
    assert_eq!(never_ran.started_at, None);
    assert_eq!(table(&["j1,,ann,,,,2026-02-01T08:00:00Z,,,4,,,PENDING"]).reasons(), [DropReason::NotStarted]);
}

/// Words of all schedulers are read as the status of a kernel is.
#[test]
fn a_state_that_contradicts_a_missing_time_drops_the_row() {
    let row = |start: &str, end: &str, state: &str| table(&[&format!("j1,,ann,p,,,,{start},{end},4,,,{state}")]);
    let (start, end) = ("2026-02-01T08:00:00Z", "2026-02-01T09:00:00Z");
    for state in
        ["COMPLETED", "completed", "FAILED", "CANCELLED by 1000", "TIMEOUT", "OUT_OF_ME+", "Succeeded", "TERMINATED"]
    {
        let outcome = row(start, "", state);
        assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![DropReason::EndMissing], 1), "{state}");
        let whole = row(start, end, state).only_job();
        assert_eq!((whole.started_at, whole.terminated_at), (Some(at(start)), Some(at(end))), "{state}");
    }
    for (start, end, state, reason, ran) in [
        ("", end, "COMPLETED", DropReason::StartMissing, 1),
        ("", "", "FAILED", DropReason::StartMissing, 1),
        ("", end, "RUNNING", DropReason::StartMissing, 1),
        ("", "", "CANCELLED", DropReason::CancelledBeforeStart, 0),
        (start, "", "PENDING", DropReason::NotStarted, 0),
    ] {
        let outcome = row(start, end, state);
        assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![reason], ran), "{state}");
    }
    for state in ["RUNNING", "SUSPENDED", "r", ""] {
        let outcome = row(start, "", state);
        assert_eq!(skipped(&outcome), [], "{state}");
        assert_eq!(outcome.only_job().terminated_at, None, "{state}");
    }
    // A word that no scheduler has matters only where the job counts as running because of it.
    assert_eq!(skipped(&row(start, "", "ready")), [("state", 1)]);
    assert_eq!(skipped(&row(start, end, "ready")), []);
}

#[test]
fn memory_is_exact() {
    for (gib, bytes) in [
        ("1", "1073741824"),
        ("23.4375", "25165824000"),
        ("0.0977", "104904576.2048"),
        ("0.000000000001", "0.001073741824"),
        ("9007199254740993", "9671406556917033397649408"),
    ] {
        let job = table(&[&GOOD.replace(",8,1.5,2,", &format!(",,{gib},,"))]);
        if gib == "9007199254740993" {
            assert_eq!(job.reasons(), [DropReason::BadAmount("mem_gib")], "above the largest amount");
        } else {
            assert_eq!(slots(&job.only_job()), format!("mem={bytes}"));
        }
    }
}

#[test]
fn times_carry_offsets_and_fractions() {
    for (text, expected) in [
        ("2026-02-01T08:00:00.774Z", "2026-02-01T08:00:00.774Z"),
        ("2026-02-01T08:00:00.1234567Z", "2026-02-01T08:00:00.123456Z"),
        ("2026-02-01T09:30:00+01:30", "2026-02-01T08:00:00Z"),
        ("2026-01-31T23:00:00-09:00", "2026-02-01T08:00:00Z"),
        ("2026-02-01T08:00:00", "2026-02-01T08:00:00Z"),
    ] {
        let job = table(&[&GOOD.replace("2026-02-01T08:00:00Z", text)]).only_job();
        assert_eq!(job.started_at, Some(at(expected)), "{text}");
    }
}

#[test]
fn bad_rows_are_dropped_and_the_next_one_is_read() {
    for (row, reason) in [
        (GOOD.replace(",COMPLETED", ""), DropReason::FieldCount),
        (format!("{GOOD},more"), DropReason::FieldCount),
        (GOOD.replace("ann", "\"ann"), DropReason::OpenQuote),
        (GOOD.replace("j1", ""), DropReason::NoJobId),
        (GOOD.replace("T09", "T06"), DropReason::EndBeforeStart),
        (GOOD.replace("2026-02-01T09", "1969-02-01T09"), DropReason::BadTime("end_time")),
        (GOOD.replace(",8,1.5,2,", ",-8,,,"), DropReason::BadAmount("cpu")),
        (GOOD.replace(",8,1.5,2,", ",1e3,,,"), DropReason::BadAmount("cpu")),
        (GOOD.replace(",8,1.5,2,", ",,inf,,"), DropReason::BadAmount("mem_gib")),
        (GOOD.replace(",8,1.5,2,", ",0,,0.0000000000001,"), DropReason::BadAmount("gpu")),
    ] {
        let outcome = table(&[&row, GOOD]);
        assert_eq!((outcome.reasons(), outcome.jobs.len()), (vec![reason], 1), "{row}");
        assert_eq!(outcome.dropped[0].line, 2);
    }
}

#[test]
fn quoted_fields_line_ends_and_byte_order_mark() {
    let text = format!("\u{feff}{HEADER}\r\n\r\n{}\r\n{GOOD}", GOOD.replace("ann", "\"Ann \"\"A\"\" Lee, PhD\""));
    let outcome = read("csv", text);
    assert_eq!(outcome.jobs[0].user, "Ann \"A\" Lee, PhD");
    assert_eq!(outcome.jobs[1].user, "ann");
    assert_eq!(outcome.summary.rows, 2);
}
