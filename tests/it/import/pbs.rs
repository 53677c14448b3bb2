//! Accounting logs of `OpenPBS` and Torque, as both write them.

use fairshared::cli::import::TraceOptions;
use fairshared::cli::import::reason::DropReason;

use super::{Outcome, at, read, read_with, slots};

const SECONDS: &str = "ctime=1770000000 qtime=1770000000 etime=1770000000 start=1770000600";
const START: &str = "2026-02-02T02:50:00Z";
const END: &str = "2026-02-02T03:50:00Z";

fn log(records: &[String]) -> Outcome {
    read("pbs", records.join("\n"))
}

/// An `E` record of an hour with the given facts.
fn ended(id: &str, facts: &str) -> String {
    format!(
        "02/02/2026 04:50:00;E;{id};user=ann group=staff queue=batch {SECONDS} {facts} end=1770004200 Exit_status=0"
    )
}

fn held(facts: &str) -> String {
    slots(&log(&[ended("7.pbs1", facts)]).only_job())
}

#[test]
fn an_end_becomes_a_job() {
    let torque = "account=physics jobname=STDIN owner=ann@login exec_host=n1/0+n1/1+n2/0 \
                  Resource_List.nodes=1:ppn=2+1 Resource_List.walltime=02:00:00 session=6365 \
                  resources_used.cput=00:10:00 resources_used.mem=2048kb resources_used.walltime=01:00:00";
    let job = log(&[ended("409.ign1.zeta2.org", torque)]).only_job();
    assert_eq!(job.job_key, format!("409.ign1.zeta2.org@{}", at(START).micros() / 1_000_000));
    assert_eq!((job.session_key.as_str(), job.resource_group.as_str()), ("409", "ign1.zeta2.org"));
    assert_eq!((job.user.as_str(), job.project.as_str(), job.queue.as_deref()), ("ann", "physics", Some("batch")));
    assert_eq!(job.submitted_at, Some(at("2026-02-02T02:40:00Z")));
    assert_eq!((job.started_at, job.terminated_at), (Some(at(START)), Some(at(END))));
    assert_eq!((slots(&job).as_str(), job.agents.only()), ("cpu=3 mem=2097152", None));
}

#[test]
fn projects_are_accounts_or_projects_or_groups() {
    for (facts, project) in [
        ("account=physics project=p1", "physics"),
        ("account=\"solid state physics\" project=p1", "solid state physics"),
        ("project=p1", "p1"),
        ("project=\"p 1\"", "p 1"),
        ("project=_pbs_project_default", "staff"),
        ("account='the \"best\" one' jobname=x", "the \"best\" one"),
        ("account=(null) project=N/A", "staff"),
        ("account=none project=p1", "p1"),
        ("", "staff"),
    ] {
        let facts = format!("{facts} exec_host=n1/0");
        assert_eq!(log(&[ended("7.pbs1", &facts)]).only_job().project, project, "{facts}");
    }
}

#[test]
fn resources_in_every_dialect() {
    for (facts, expected) in [
        ("exec_host=n1/0*8+n2/0*8 Resource_List.ncpus=16 Resource_List.mem=32gb", "cpu=16 mem=34359738368"),
        (
            "exec_host=n1/0*8 exec_vnode=(n1[0]:ncpus=4:mem=8388608kb:ngpus=1+n1[1]:ncpus=4:ngpus=1) \
             Resource_List.mem=16gb Resource_List.select=1:ncpus=8:ngpus=2",
            "cpu=8 cuda.device=2 mem=17179869184",
        ),
        ("exec_host=n1/0-7,9+n2/3", "cpu=10"),
        ("exec_host=n1+n2", "cpu=2"),
        ("Resource_List.ncpus=12 Resource_List.ngpus=3", "cpu=12 cuda.device=3"),
        ("Resource_List.nodes=2:ppn=8:gpus=2+n7:ppn=4", "cpu=20 cuda.device=4"),
        ("exec_host=n1/0 exec_gpus=n1-gpu/0+n1-gpu/1", "cpu=1 cuda.device=2"),
        ("Resource_List.procs=4 Resource_List.pmem=512mb", "cpu=4 mem=2147483648"),
        ("Resource_List.ncpus=1 Resource_List.mem=1024", "cpu=1 mem=1024"),
        ("Resource_List.ncpus=1 Resource_List.mem=2MW", "cpu=1 mem=16777216"),
        ("Resource_List.ncpus=1 resources_used.mem=100b", "cpu=1 mem=100"),
        ("Resource_List.neednodes=1:ppn=4:gpus=2", "cpu=4 cuda.device=2"),
        ("Resource_List.neednodes=n1:ppn=4+n2:ppn=2", "cpu=6"),
        (
            "resources_assigned.ncpus=4 resources_assigned.ngpus=2 resources_assigned.mem=1gb",
            "cpu=4 cuda.device=2 mem=1073741824",
        ),
        ("resources_assigned.ncpus=8 Resource_List.ncpus=4", "cpu=8"),
    ] {
        assert_eq!(held(facts), expected, "{facts}");
    }
    let nothing = log(&[ended("7.pbs1", "")]);
    assert_eq!((nothing.reasons(), nothing.summary.dropped_started), (vec![DropReason::NoAmount], 1));
    assert_eq!(log(&[ended("7.pbs1", "exec_host=n1/0*8")]).only_job().agents.only().map(String::as_str), Some("n1"));
}

#[test]
fn starts_and_ends_are_one_job_and_what_is_open_runs() {
    let started = |id: &str, start: u32| {
        format!(
            "02/02/2026 03:50:00;S;{id};user=ann group=staff queue=batch ctime=1770000000 start={start} exec_host=n1/0"
        )
    };
    let whole = log(&[
        "02/02/2026 03:40:00;Q;7.pbs1;queue=batch".to_owned(),
        started("7.pbs1", 1_770_000_600),
        "02/02/2026 03:51:00;L;license;floating".to_owned(),
        ended("7.pbs1", "exec_host=n1/0"),
    ]);
    assert_eq!(whole.summary.rows, 1);
    assert_eq!(whole.only_job().terminated_at, Some(at(END)));
    // A log of the day on which the job started, and one of the day after mean the same kernel.
    let open = log(&[started("7.pbs1", 1_770_000_600)]).only_job();
    assert_eq!((open.started_at, open.terminated_at), (Some(at(START)), None));
    assert_eq!(open.kernel_id(), log(&[ended("7.pbs1", "exec_host=n1/0")]).only_job().kernel_id());
    // Torque writes a rerun without its facts, PBS with them.
    for rerun in [
        "02/02/2026 03:00:00;R;7.pbs1;",
        &ended("7.pbs1", "exec_host=n1/0").replace(";E;", ";R;").replace("end=1770004200", "end=1770001200"),
    ] {
        let runs = log(&[started("7.pbs1", 1_770_000_600), rerun.to_owned(), started("7.pbs1", 1_770_002_000)]);
        let ends: Vec<_> = runs.jobs.iter().map(|job| job.terminated_at).collect();
        assert_eq!(ends, [Some(at("2026-02-02T03:00:00Z")), None], "{rerun}");
        assert_eq!(runs.jobs[0].session_id(), runs.jobs[1].session_id());
        assert_ne!(runs.jobs[0].kernel_id(), runs.jobs[1].kernel_id());
    }
    // The server died between: the next start is the end.
    let runs = log(&[started("7.pbs1", 1_770_000_600), started("7.pbs1", 1_770_004_200)]);
    assert_eq!(runs.jobs[0].terminated_at, Some(at(END)));
    // Jobs that were aborted before they ran do not count.
    assert_eq!(log(&["02/02/2026 03:00:00;A;8.pbs1;".to_owned()]).summary.rows, 0);
    assert_eq!(log(&["02/02/2026 03:00:00;D;8.pbs1;requestor=ann@login".to_owned()]).summary.rows, 0);
}

#[test]
fn an_abort_without_a_time_is_read_in_the_zone() {
    let start = "02/02/2026 03:50:00;S;7.pbs1;user=ann group=staff queue=batch start=1770000600 exec_host=n1/0";
    let records = format!("{start}\n02/02/2026 04:50:00;A;7.pbs1;\n");
    let options = TraceOptions { zone: Some("Europe/Berlin".parse().unwrap()), ..TraceOptions::default() };
    let outcome = read_with("pbs", records, &options);
    assert_eq!((outcome.summary.zone, outcome.summary.times.assumed), (Some("Europe/Berlin"), 1));
    assert_eq!(outcome.only_job().terminated_at, Some(at(END)));
}

#[test]
fn arrays_are_their_tasks() {
    let parent = ended("12[].pbs1", "exec_host=n1/0");
    let outcome = log(&[parent, ended("12[3].pbs1", "exec_host=n1/0"), ended("13-4.pbs1", "exec_host=n1/0")]);
    let sessions: Vec<_> = outcome.jobs.iter().map(|job| job.session_key.as_str()).collect();
    assert_eq!((sessions, outcome.summary.rows), (vec!["12", "13"], 2));
}

#[test]
fn ends_follow_from_walltime_and_bad_records_have_reasons() {
    let without_end =
        |facts: &str| log(&[ended("7.pbs1", &format!("exec_host=n1/0 {facts}")).replace(" end=1770004200", "")]);
    let job = without_end("resources_used.walltime=01:00:00").only_job();
    assert_eq!(job.terminated_at, Some(at(END)));
    assert_eq!(without_end("").reasons(), [DropReason::EndMissing]);
    // Deleted before it ran.
    let never = ended("7.pbs1", "").replace("start=1770000600", "start=0");
    assert_eq!(log(&[never]).only_job().started_at, None);
    for (record, reason) in [
        ("02/02/2026 04:50:00;E".to_owned(), DropReason::FieldCount),
        (ended("7.pbs1", "exec_host=n1/x*y"), DropReason::BadResources("exec_host")),
        (ended("7.pbs1", "exec_host=n1/0*99999999999"), DropReason::BadResources("exec_host")),
        (ended("7.pbs1", "Resource_List.ncpus=-1"), DropReason::BadNumber("Resource_List")),
        (ended("7.pbs1", "Resource_List.mem=lots"), DropReason::BadAmount("memory")),
        (
            ended("7.pbs1", "").replace(" end=1770004200", " resources_used.walltime=long"),
            DropReason::BadNumber("resources_used.walltime"),
        ),
        (ended("7.pbs1", "").replace("start=1770000600", "start=soon"), DropReason::BadTime("start")),
        (ended("7.pbs1", "").replace("end=1770004200", "end=1769990000"), DropReason::EndBeforeStart),
        (ended("", ""), DropReason::NoJobId),
    ] {
        assert_eq!(log(std::slice::from_ref(&record)).reasons(), [reason], "{record}");
    }
    // The name of a job may be in any encoding.
    let mut bytes = ended("7.pbs1", "exec_host=n1/0 jobname=caf").into_bytes();
    bytes.insert(bytes.windows(3).position(|w| w == b"caf").unwrap() + 3, 0xe9);
    assert_eq!(read("pbs", bytes).summary.taken, 1);
}
