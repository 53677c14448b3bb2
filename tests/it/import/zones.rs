//! Times without an offset.

use fairshared::cli::import::TraceOptions;
use fairshared::cli::import::format::ImportFormat;

use super::{ImportError, Outcome, TraceReader, at, read, read_with, source};

const HEADER: &str = "JobID|User|Account|State|Start|End|AllocTRES";

fn row(start: &str, end: &str) -> String {
    format!("{HEADER}\n7|ann|physics|COMPLETED|{start}|{end}|cpu=1\n")
}

fn options(zone: &str) -> TraceOptions {
    TraceOptions { zone: Some(zone.parse().unwrap()), ..TraceOptions::default() }
}

fn berlin(start: &str, end: &str) -> Outcome {
    read_with("sacct", row(start, end), &options("Europe/Berlin"))
}

#[test]
fn local_times_follow_the_zone_and_its_summer() {
    for (start, end, expected) in [
        ("2026-01-15T08:00:00", "2026-01-15T09:00:00", ["2026-01-15T07:00:00Z", "2026-01-15T08:00:00Z"]),
        ("2026-07-15T08:00:00", "2026-07-15T09:00:00", ["2026-07-15T06:00:00Z", "2026-07-15T07:00:00Z"]),
        // Over both changes of the clock.
        ("2026-03-29T01:30:00", "2026-03-29T03:30:00", ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]),
        ("2026-10-25T01:30:00", "2026-10-25T03:30:00", ["2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z"]),
    ] {
        let outcome = berlin(start, end);
        let times = outcome.summary.times;
        assert_eq!((outcome.summary.zone, times.assumed, times.twice, times.never), (Some("Europe/Berlin"), 1, 0, 0));
        let job = outcome.only_job();
        assert_eq!([job.started_at, job.terminated_at], expected.map(|time| Some(at(time))), "{start}");
    }
}

#[test]
fn a_time_that_was_shown_twice_is_its_first_but_no_end_before_its_start() {
    for (start, end, expected) in [
        ("2026-10-25T02:30:00", "2026-10-25T02:50:00", ["2026-10-25T00:30:00Z", "2026-10-25T00:50:00Z"]),
        ("2026-10-25T02:30:00", "2026-10-25T02:10:00", ["2026-10-25T00:30:00Z", "2026-10-25T01:10:00Z"]),
        ("2026-10-25T02:30:00", "2026-10-25T05:00:00", ["2026-10-25T00:30:00Z", "2026-10-25T04:00:00Z"]),
    ] {
        let outcome = berlin(start, end);
        assert_eq!((outcome.summary.times.twice, outcome.summary.times.never), (1, 0));
        let said = outcome.summary.to_string();
        assert!(said.contains("1 row has a time that the clock showed twice: its first was taken"), "{said}");
        let job = outcome.only_job();
        assert_eq!([job.started_at, job.terminated_at], expected.map(|time| Some(at(time))), "{start} {end}");
    }
}

#[test]
fn a_time_that_was_never_shown_is_read_as_before_the_change() {
    let outcome = berlin("2026-03-29T02:30:00", "2026-03-29T04:00:00");
    assert_eq!((outcome.summary.times.twice, outcome.summary.times.never), (0, 1));
    assert!(outcome.summary.to_string().contains("is the time zone right?"));
    assert_eq!(outcome.only_job().started_at, Some(at("2026-03-29T01:30:00Z")));
}

#[test]
fn offsets_and_seconds_need_no_zone() {
    for (start, end) in [
        ("2026-02-01T08:00:00+0100", "2026-02-01T02:00:00-0600"),
        ("2026-02-01T08:00:00+01:00", "2026-02-01T08:00:00Z"),
        ("1769929200", "1769932800"),
    ] {
        for outcome in [read("sacct", row(start, end)), berlin(start, end)] {
            assert_eq!(outcome.summary.times.assumed, 0, "{start}");
            assert!(!outcome.summary.to_string().contains("without an offset"));
            let job = outcome.only_job();
            let hour = ["2026-02-01T07:00:00Z", "2026-02-01T08:00:00Z"];
            assert_eq!([job.started_at, job.terminated_at], hour.map(|time| Some(at(time))), "{start}");
        }
    }
    // The same instants are the same kernel, however they are written.
    let there = berlin("2026-02-01T08:00:00", "2026-02-01T09:00:00").only_job();
    assert_eq!(there.kernel_id(), read("sacct", row("1769929200", "1769932800")).only_job().kernel_id());
}

#[test]
fn the_zone_that_is_assumed_is_told() {
    let outcome = read("sacct", row("2026-02-01T08:00:00", "2026-02-01T09:00:00"));
    let said = outcome.summary.to_string();
    assert!(said.contains("times without an offset were read as UTC, in 1 row\n"), "{said}");
    let table = "job_id,user,project,start_time,end_time\n1,ann,ml,2026-07-15T08:00:00,2026-07-15T07:00:00Z\n";
    let job = read_with("csv", table, &options("Europe/Berlin")).only_job();
    assert_eq!(
        (job.started_at, job.terminated_at),
        (Some(at("2026-07-15T06:00:00Z")), Some(at("2026-07-15T07:00:00Z")))
    );
}

#[test]
fn what_says_nothing_about_a_format_is_refused() {
    let refused = |format, options: &TraceOptions| {
        let reader = TraceReader::new(ImportFormat::named(format).unwrap(), source(""), options);
        let Err(error @ ImportError::NotOfFormat { .. }) = reader else { panic!("not refused") };
        error.to_string()
    };
    assert_eq!(refused("swf", &options("UTC")), "--timezone says nothing about the format swf");
    assert_eq!(refused("lsf", &options("UTC")), "--timezone says nothing about the format lsf");
    let delimiter = TraceOptions { delimiter: Some(';'), ..TraceOptions::default() };
    assert_eq!(refused("csv", &delimiter), "--delimiter says nothing about the format csv");
    let fields = TraceOptions { fields: Some("JobID".to_owned()), ..TraceOptions::default() };
    assert_eq!(refused("pbs", &fields), "--fields says nothing about the format pbs");
}
