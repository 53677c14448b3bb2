//! CSV files of jobs, and files of capacities.

use fairshared::cli::import::ImportError;
use fairshared::cli::import::capacities::read_capacities;
use fairshared::cli::import::reason::Reason;

use super::{Outcome, at, gzip, read, refused, slots, source};

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
    assert_eq!((job.agent, job.queue), (None, None));
    let never_ran = table(&["j1,,ann,,,,,,2026-02-01T08:00:00Z,4,,,CANCELLED"]).only_job();
    assert_eq!(never_ran.started_at, None);
    assert_eq!(table(&["j1,,ann,,,,2026-02-01T08:00:00Z,,,4,,,PENDING"]).reasons(), [Reason::NotStarted]);
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
            assert_eq!(job.reasons(), [Reason::BadAmount("mem_gib")], "above the largest amount");
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
        (GOOD.replace(",COMPLETED", ""), Reason::FieldCount),
        (format!("{GOOD},more"), Reason::FieldCount),
        (GOOD.replace("ann", "\"ann"), Reason::OpenQuote),
        (GOOD.replace("j1", ""), Reason::NoJobId),
        (GOOD.replace("science", "sci/ence"), Reason::BadName("domain")),
        (GOOD.replace("T09", "T06"), Reason::EndBeforeStart),
        (GOOD.replace("2026-02-01T09", "1969-02-01T09"), Reason::BadTime("end_time")),
        (GOOD.replace("2026-02-01T07:00:00Z", "yesterday"), Reason::BadTime("submit_time")),
        (GOOD.replace(",8,", ",-8,"), Reason::BadAmount("cpu")),
        (GOOD.replace(",8,", ",1e3,"), Reason::BadAmount("cpu")),
        (GOOD.replace(",1.5,", ",inf,"), Reason::BadAmount("mem_gib")),
        (GOOD.replace(",2,", ",0.0000000000001,"), Reason::BadAmount("gpu")),
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

#[test]
fn capacities_are_typed_rows() {
    let text = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n\
                alpha,n1,64,250.4004,0,2026-02-01T00:00:00Z,\n\
                \n\
                beta,pool,,,112,2026-02-01T00:00:00Z,2026-02-02T00:00:00Z\n";
    let rows = read_capacities(&mut source(gzip(text.as_bytes()))).unwrap();
    let [first, second] = rows.as_slice() else { panic!("two rows") };
    assert_eq!((first.resource_group.as_str(), first.agent.as_str()), ("alpha", "n1"));
    assert_eq!(first.slots.to_json(), r#"{"cpu":"64","cuda.device":"0","mem":"268865382226.3296"}"#);
    assert_eq!((first.from, first.to), (at("2026-02-01T00:00:00Z"), None));
    assert_eq!(second.slots.to_json(), r#"{"cuda.device":"112"}"#);
    assert_eq!(second.to, Some(at("2026-02-02T00:00:00Z")));
}

#[test]
fn a_node_may_offer_one_thing_after_the_other() {
    let text = "resource_group,agent_id,cpu,from,to\n\
                alpha,n1,8,2026-03-01T00:00:00Z,\n\
                alpha,n1,4,2026-02-01T00:00:00Z,2026-03-01T00:00:00Z\n\
                alpha,n1,2,2026-02-05T00:00:00Z,2026-02-05T00:00:00Z\n\
                alpha,n2,8,2026-03-01T00:00:00Z,\n\
                beta,n1,8,2026-03-01T00:00:00Z,\n";
    assert_eq!(read_capacities(&mut source(text)).unwrap().len(), 5);
}

#[test]
fn a_capacities_file_with_one_bad_row_is_refused_whole() {
    let read = |text: &str| {
        let text = format!("resource_group,agent_id,cpu,from,to\nalpha,n1,8,2026-02-01T00:00:00Z,\n{text}\n");
        read_capacities(&mut source(text)).unwrap_err().to_string()
    };
    for (row, error) in [
        ("alpha,n2,8,,", "line 3: from is not a time between the years 1970 and 9999"),
        ("alpha,n2,-8,2026-02-01T00:00:00Z,", "line 3: cpu is not an amount from 0 to 10^21 with at most 12 decimals"),
        ("alpha,n2,8,2026-02-01T00:00:00Z,2026-01-01T00:00:00Z", "line 3: ends before it starts"),
        ("alpha,,8,2026-02-01T00:00:00Z,", "line 3: agent name is too long or has characters that a name cannot have"),
        ("alpha,n2", "line 3: wrong number of fields"),
    ] {
        assert_eq!(read(row), error);
    }
    for (rows, lines) in [
        ("alpha,n1,9,2026-02-01T00:00:00Z,", "2 and 3"),
        ("alpha,n1,9,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z", "2 and 3"),
        ("alpha,n2,8,2026-01-01T00:00:00Z,\nalpha,n1,9,2026-01-01T00:00:00Z,2026-02-01T00:00:01Z", "2 and 4"),
    ] {
        let both = "both say what the node \"n1\" of the resource group \"alpha\" offers at the same time";
        assert_eq!(read(rows), format!("lines {lines} {both}"));
    }
    assert!(matches!(read_capacities(&mut source("")), Err(ImportError::NoHeader)));
    let whole = gzip(b"resource_group,agent_id,cpu,from,to\n");
    let cut = read_capacities(&mut source(&whole[..whole.len() - 4]));
    assert!(matches!(cut, Err(ImportError::EndedEarly(_))));
}
