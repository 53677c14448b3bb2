//! Run times that rows contain in addition to start and end.

use fairshared::cli::import::TraceOptions;
use fairshared::domain::time::MICROS_PER_HOUR;
use serde_json::json;

use super::{ImportedJob, Outcome, at, read, read_with, skipped, slots};
use crate::support::plain::data;

const START: &str = "2026-11-20T10:00:00";

/// A dump of one job of four hours and 4 CPUs, with additional fields.
fn four_hours(names: &str, values: &str) -> Outcome {
    let header = format!("JobID|Cluster|User|Account|State|Start|End|AllocTRES|{names}");
    read("sacct", format!("{header}\n1|c1|ann|bio|COMPLETED|{START}|2026-11-20T14:00:00|cpu=4|{values}\n"))
}

/// The accounted time of the job.
fn micros(job: &ImportedJob) -> i64 {
    job.terminated_at.unwrap().micros() - job.started_at.unwrap().micros()
}

fn hours(job: &ImportedJob) -> f64 {
    micros(job) as f64 / MICROS_PER_HOUR as f64
}

#[test]
fn the_shorter_of_the_run_time_and_the_time_between_counts() {
    for (names, values, expected) in [
        ("ElapsedRaw", "3600", 1.0),
        ("Elapsed", "01:00:00", 1.0),
        ("Elapsed", "60:00.500", 1.0),
        ("Elapsed", "0-01:00:00", 1.0),
        ("Elapsed", "0-01", 1.0),
        ("Elapsed", "0-01:30", 1.5),
        ("ElapsedRaw|Elapsed", "3600|04:00:00", 1.0),
        ("ElapsedRaw|Elapsed", "|01:00:00", 1.0),
        ("ElapsedRaw|Suspended", "3600|03:00:00", 1.0),
        // One of the two leaves out what the other knows.
        ("ElapsedRaw|Suspended", "3600|01:00:00", 1.0),
        ("ElapsedRaw|Suspended", "14400|03:00:00", 1.0),
        ("Elapsed|Suspended", "|03:00:00", 1.0),
        ("ElapsedRaw", "0", 0.0),
    ] {
        let outcome = four_hours(names, values);
        assert_eq!(outcome.summary.charged_by_run_time, 1, "{names} {values}");
        let said = outcome.summary.to_string();
        assert!(said.contains("1 row has a run time that is shorter than from start to end: the run time was charged"));
        assert!((hours(&outcome.only_job()) - expected).abs() < 1e-9, "{names} {values}");
    }
    for (names, values) in
        [("ElapsedRaw", "14400"), ("ElapsedRaw", "99999"), ("ElapsedRaw", ""), ("Elapsed", "INVALID")]
    {
        let outcome = four_hours(names, values);
        assert_eq!(outcome.summary.charged_by_run_time, 0, "{names} {values}");
        assert!((hours(&outcome.only_job()) - 4.0).abs() < 1e-9, "{names} {values}");
    }
}

#[test]
fn a_run_time_that_cannot_be_read_is_not_needed_where_there_is_an_end() {
    for (names, values, field) in [
        ("ElapsedRaw", "long", "ElapsedRaw"),
        ("Elapsed", "-", "Elapsed"),
        ("ElapsedRaw|Elapsed", "x|04:00:00", "ElapsedRaw"),
    ] {
        let outcome = four_hours(names, values);
        assert_eq!(skipped(&outcome), [(field, 1)], "{names} {values}");
        assert!((hours(&outcome.only_job()) - 4.0).abs() < 1e-9, "{names} {values}");
    }
}

#[test]
fn an_end_that_cannot_be_one_is_not_needed_where_there_is_a_run_time() {
    let header = "JobID|User|Account|State|Start|End|ElapsedRaw|AllocTRES";
    for end in ["soon", "2026-11-20T09:00:00", "99999999999999"] {
        let outcome = read("sacct", format!("{header}\n1|ann|bio|COMPLETED|{START}|{end}|3600|cpu=4\n"));
        assert_eq!(skipped(&outcome), [("End", 1)], "{end}");
        let why = if end.starts_with("2026") {
            "\"2026-11-20T09:00:00Z\" lies before the start\n"
        } else {
            "cannot be read\n"
        };
        let said = outcome.summary.to_string();
        assert!(said.contains("field End left out of 1 row, first at line 2: ") && said.contains(why), "{said}");
        assert_eq!(outcome.only_job().terminated_at, Some(at("2026-11-20T11:00:00Z")), "{end}");
    }
}

#[test]
fn a_document_says_how_long_a_job_ran() {
    for (elapsed, suspended) in [
        (json!(3600), json!(0)),
        (json!("3600"), json!(null)),
        (json!("01:00:00"), json!("00:00:00")),
        (json!("0-01:00:00"), json!(0)),
        (json!(3600), json!(10_800)),
    ] {
        let job = json!({
            "job_id": 1, "user": "ann", "account": "bio", "cluster": "c1", "state": {"current": ["COMPLETED"]},
            "time": {"start": 1_795_168_800, "end": 1_795_183_200, "elapsed": elapsed, "suspended": suspended},
            "tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 4}]},
        });
        let outcome = read("sacct", json!({"jobs": [job]}).to_string());
        assert_eq!(outcome.summary.charged_by_run_time, 1, "{elapsed}");
        assert!((hours(&outcome.only_job()) - 1.0).abs() < 1e-9, "{elapsed}");
    }
}

#[test]
fn pbs_says_how_long_a_job_ran() {
    let record = |facts: &str| {
        let owner = "user=ann group=bio queue=batch ctime=1795168000 start=1795168800";
        read("pbs", format!("11/20/2026 14:00:00;E;1.c1;{owner} Resource_List.ncpus=4 {facts}\n"))
    };
    for facts in [
        "end=1795183200 resources_used.walltime=01:00:00",
        "end=1795183200 resources_used.walltime=3600",
        "end=1795183200 resources_used.walltime=60:00",
        "end=1795100000 resources_used.walltime=01:00:00",
        "end=soon resources_used.walltime=01:00:00",
        "resources_used.walltime=01:00:00",
    ] {
        assert!((hours(&record(facts).only_job()) - 1.0).abs() < 1e-9, "{facts}");
    }
    let before = record("end=1795100000 resources_used.walltime=01:00:00").summary.to_string();
    assert!(
        before.contains("field end left out of 1 row, first at line 1: \"1795100000\" lies before the start"),
        "{before}"
    );
    for (walltime, expected) in [("1:00:00.50", 1.0), ("0:02:00:00", 2.0), ("1:02:00:00", 26.0), ("1-02:00:00", 26.0)] {
        let outcome = record(&format!("end=1795283200 resources_used.walltime={walltime}"));
        assert_eq!(skipped(&outcome), [], "{walltime}");
        assert!((hours(&outcome.only_job()) - expected).abs() < 1e-9, "{walltime}");
    }
    let unreadable = record("end=1795183200 resources_used.walltime=1:1:02:00:00");
    assert_eq!(skipped(&unreadable), [("resources_used.walltime", 1)]);
    let unreadable = record("end=1795183200 resources_used.walltime=long");
    assert_eq!(skipped(&unreadable), [("resources_used.walltime", 1)]);
    assert!((hours(&unreadable.only_job()) - 4.0).abs() < 1e-9);
}

fn berlin(format: &str, text: String) -> Outcome {
    read_with(format, text, &TraceOptions { zone: Some("Europe/Berlin".parse().unwrap()), ..TraceOptions::default() })
}

/// The clock shows 02:00 to 03:00 twice on that day.
#[test]
fn in_the_repeated_hour_the_run_time_says_which_instants_are_meant() {
    let header = "JobID|User|Account|State|Submit|Start|End|ElapsedRaw|Suspended|AllocTRES";
    for (start, end, elapsed, suspended, expected) in [
        ("02:30:00", "02:50:00", "1200", "", ["00:30:00", "00:50:00"]),
        ("02:30:00", "02:50:00", "4800", "", ["00:30:00", "01:50:00"]),
        ("02:30:00", "02:10:00", "2400", "", ["00:30:00", "01:10:00"]),
        ("02:30:00", "03:30:00", "3600", "", ["01:30:00", "02:30:00"]),
        ("02:30:00", "03:30:00", "7200", "", ["00:30:00", "02:30:00"]),
        ("01:30:00", "02:30:00", "7200", "", ["23:30:00", "01:30:00"]),
        ("02:30:00", "03:30:00", "3000", "00:10:00", ["01:30:00", "02:20:00"]),
    ] {
        let row = format!(
            "1|ann|bio|COMPLETED|2026-10-25T01:00:00|2026-10-25T{start}|2026-10-25T{end}|{elapsed}|{suspended}|cpu=4"
        );
        let outcome = berlin("sacct", format!("{header}\n{row}\n"));
        let times = outcome.summary.times;
        // Both instants of the first row are an hour later in the other pair, which is as long.
        let is_certain = elapsed != "1200";
        assert_eq!((times.by_run_time, times.twice), (u64::from(is_certain), u64::from(!is_certain)), "{row}");
        let job = outcome.only_job();
        let day = |time: &str| if time.starts_with("23") { 24 } else { 25 };
        let expected = expected.map(|time| Some(at(&format!("2026-10-{}T{time}Z", day(time)))));
        assert_eq!([job.started_at, job.terminated_at], expected, "{row}");
    }
    let said = berlin(
        "sacct",
        format!("{header}\n1|ann|bio|COMPLETED||2026-10-25T02:30:00|2026-10-25T03:30:00|3600||cpu=4\n"),
    );
    let said = said.summary.to_string();
    assert!(
        said.contains("1 row has a time that the clock showed twice: the run time says which of the two it is"),
        "{said}"
    );
}

#[test]
fn in_the_repeated_hour_the_date_of_a_record_follows_from_the_walltime() {
    let start = "10/25/2026 02:30:00;S;1.c1;user=ann group=bio queue=q start=1792888200 exec_host=n1/0";
    for (record, end) in [
        ("10/25/2026 02:50:00;A;1.c1;resources_used.walltime=01:20:00", "2026-10-25T01:50:00Z"),
        ("10/25/2026 02:50:00;A;1.c1;resources_used.walltime=00:20:00", "2026-10-25T00:50:00Z"),
        ("10/25/2026 02:10:00;A;1.c1;", "2026-10-25T01:10:00Z"),
    ] {
        assert_eq!(berlin("pbs", format!("{start}\n{record}\n")).only_job().terminated_at, Some(at(end)), "{record}");
    }
}

#[test]
fn the_handed_suspension_is_one_hour_of_four_cpus() {
    let Some(data) = data() else { return };
    let path = data.join("odd-accounting/04-suspended-told-by-elapsed.sacct.txt");
    let job = read("sacct", std::fs::read(path).unwrap()).only_job();
    assert_eq!((slots(&job).as_str(), micros(&job)), ("cpu=4", MICROS_PER_HOUR));
}
