//! Ids of jobs, reports, and times that are shifted to now.

use fairshared::cli::import::format::ImportFormat;
use fairshared::cli::import::job::ImportedJob;
use fairshared::cli::import::reason::DropReason;
use fairshared::cli::import::rebase::{TimeShift, survey_trace};
use fairshared::cli::import::{FORMATS, ImportError, TraceOptions, TraceReader};
use fairshared::domain::kernel::KernelPhase;
use fairshared::domain::time::Timestamp;

use super::{at, collect, read, read_with, reader, report, source};

const TABLE: &str = "job_id,session_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu\n\
    j1,s1,ann,physics,science,alpha,2026-02-01T07:00:00Z,2026-02-01T08:00:00Z,2026-02-01T09:00:00.5Z,8\n\
    j2,s1,bob,physics,science,alpha,2026-02-01T07:00:00Z,2026-02-01T10:00:00Z,,8\n\
    j1,s1,ann,maths,science,beta,2026-02-02T07:00:00Z,,2026-02-02T08:00:00Z,8\n";

#[test]
fn identities_are_stable_and_distinct() {
    let jobs = read("csv", TABLE).jobs;
    let again = read("csv", TABLE).jobs;
    let ids = |jobs: &[ImportedJob]| jobs.iter().map(report).map(|r| (r.id, r.session, r.owner)).collect::<Vec<_>>();
    assert_eq!(ids(&jobs), ids(&again));
    let [first, second, third] = jobs.as_slice() else { panic!("three jobs") };
    // Fixed for good: a database that was filled once must know its rows again.
    assert_eq!(first.kernel_id().to_string(), "7a5b5f0d-7de7-5f75-b080-94c5b3cfb6d6");
    assert_eq!(first.session_id().to_string(), "a0f68340-7c4e-55ec-a702-cbcece1a3e51");
    assert_eq!(first.user_id().to_string(), "b47774c1-7d4d-5d38-aff2-5b886b8ce0a1");
    assert_eq!(first.project_id().to_string(), "51321060-0e07-57ad-8d75-6bda50cebf9e");
    assert_eq!(first.session_id(), second.session_id());
    assert_eq!(first.project_id(), second.project_id());
    assert_ne!(first.user_id(), second.user_id());
    assert_ne!(first.kernel_id(), second.kernel_id());
    // The same job id on another cluster is another job, the same user the same person.
    assert_ne!(first.kernel_id(), third.kernel_id());
    assert_ne!(first.session_id(), third.session_id());
    assert_eq!(first.user_id(), third.user_id());
    assert_ne!(first.project_id(), third.project_id());
}

#[test]
fn names_never_run_together() {
    let job = |group: &str, key: &str| ImportedJob {
        resource_group: group.to_owned(),
        job_key: key.to_owned(),
        ..ImportedJob::default()
    };
    assert_ne!(job("a", "bc").kernel_id(), job("ab", "c").kernel_id());
}

#[test]
fn a_report_says_what_the_trace_says() {
    let jobs = read("csv", TABLE).jobs;
    let reports: Vec<_> = jobs.iter().map(report).collect();
    assert_eq!(
        reports.iter().map(|r| r.phase).collect::<Vec<_>>(),
        [KernelPhase::Terminated, KernelPhase::Running, KernelPhase::Terminated]
    );
    let first = &reports[0];
    assert_eq!((first.id, first.session), (jobs[0].kernel_id(), jobs[0].session_id()));
    assert_eq!((first.owner.user, first.owner.project), (jobs[0].user_id(), jobs[0].project_id()));
    assert_eq!((first.domain.as_str(), &first.slots), ("science", &jobs[0].slots));
    assert_eq!((first.started_at, first.terminated_at), (jobs[0].started_at, jobs[0].terminated_at));
    let traced = "7 100 20 300 4 -1 -1 8 600 -1 1 5 6 -1 2 3 -1 -1 {11,11} long";
    let traits = report(&read("swf", traced).only_job()).traits;
    assert_eq!((traits.agents.only().map(String::as_str), traits.queue.as_deref()), (Some("node11"), Some("long")));
}

#[test]
fn one_group_for_a_whole_trace() {
    let options = TraceOptions { resource_group: Some("gamma".to_owned()), ..TraceOptions::default() };
    let outcome = read_with("csv", TABLE, &options);
    assert!(outcome.jobs.iter().all(|job| job.resource_group == "gamma"));
    let illegal = TraceOptions { resource_group: Some("a/b".to_owned()), ..TraceOptions::default() };
    let refused = TraceReader::new(ImportFormat::named("csv").unwrap(), source(TABLE), &illegal);
    assert!(matches!(refused, Err(ImportError::ResourceGroup(_))));
}

#[test]
fn formats_are_found_by_name() {
    for format in FORMATS {
        assert_eq!(ImportFormat::named(format.name).map(|found| found.about), Some(format.about));
    }
    assert!(ImportFormat::named("excel").is_none());
}

#[test]
fn a_rebased_trace_ends_now_and_keeps_its_shape() {
    let last = survey_trace(&mut reader("csv", TABLE, &TraceOptions::default())).unwrap().last_event.unwrap();
    assert_eq!(last, at("2026-02-02T08:00:00Z"));
    let now = at("2031-07-05T12:34:56.789Z");
    let shift = TimeShift::onto(last, now);
    let before = read("csv", TABLE);
    let after = collect(reader("csv", TABLE, &TraceOptions::default()).shifted(shift)).unwrap();
    assert_eq!(after.jobs.iter().filter_map(ImportedJob::last_event).max(), Some(now));
    for (old, new) in before.jobs.iter().zip(&after.jobs) {
        for (old, new) in [
            (old.submitted_at, new.submitted_at),
            (old.started_at, new.started_at),
            (old.terminated_at, new.terminated_at),
        ] {
            assert_eq!(old.map(|time| time.micros() + shift.micros()), new.map(Timestamp::micros));
        }
        assert_eq!(old.kernel_id(), new.kernel_id());
    }
    assert_eq!(after.jobs.len(), before.jobs.len());
    let empty = survey_trace(&mut reader("csv", TABLE.lines().next().unwrap(), &TraceOptions::default())).unwrap();
    assert_eq!(empty.last_event, None);
}

#[test]
fn a_time_that_would_leave_the_calendar_drops_its_row() {
    let shift = TimeShift::onto(at("2026-02-02T08:00:00Z"), at("1970-01-02T00:30:00Z"));
    let outcome = collect(reader("csv", TABLE, &TraceOptions::default()).shifted(shift)).unwrap();
    assert_eq!(outcome.reasons(), [DropReason::ShiftedOut; 2]);
    let second = TimeShift::onto(at("1970-01-01T00:00:00Z"), at("1970-01-01T00:00:01Z"));
    assert_eq!(second.apply(at("9999-12-31T23:59:58Z")), Some(at("9999-12-31T23:59:59Z")));
    assert_eq!(second.apply(at("9999-12-31T23:59:59.5Z")), None);
}

#[test]
fn what_a_trace_does_not_say_means_what_it_means_in_the_api() {
    use crate::support::fixture::{incoming, kernel};
    let traits = report(&read("csv", TABLE).jobs[0]).traits;
    let of_the_api = incoming(&kernel("k", "ann", "physics", "2026-02-01T08:00:00Z")).report.traits;
    assert!(traits.preemptible && of_the_api.preemptible);
    assert_eq!(traits, of_the_api);
    assert_eq!(fairshared::domain::kernel::KernelTraits::default(), of_the_api);
}
