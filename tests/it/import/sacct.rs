//! Dumps of sacct: the job of a row, and the reasons to drop a row.

use fairshared::cli::import::reason::DropReason;
use fairshared::domain::kernel_agents::MAX_AGENTS_OF_KERNEL;

use super::{Outcome, at, read, refused, slots};

const HEADER: &str = "JobID|User|Account|Cluster|Partition|State|Submit|Start|End|AllocTRES|NodeList|Priority";

fn dump(rows: &[&str]) -> Outcome {
    read("sacct", format!("{HEADER}\n{}\n", rows.join("\n")))
}

/// A finished hour of the given job with the given resources.
fn hour(id: &str, tres: &str) -> String {
    format!(
        "{id}|ann|physics|alpha|long|COMPLETED|2026-02-01T07:59:00|2026-02-01T08:00:00|2026-02-01T09:00:00|{tres}|n01|10"
    )
}

/// A job with the given state and times.
fn times(state: &str, start: &str, end: &str) -> Outcome {
    dump(&[&format!("7|ann|physics|alpha|long|{state}|2026-02-01T07:00:00|{start}|{end}|cpu=1|n01|0")])
}

#[test]
fn a_row_becomes_a_job() {
    let job = dump(&[&hour("42", "billing=8,cpu=8,mem=24000M,node=1,energy=12")]).only_job();
    assert_eq!(job.job_key, format!("42@{}", at("2026-02-01T08:00:00Z").micros() / 1_000_000));
    assert_eq!(job.session_key, "42");
    assert_eq!((job.user.as_str(), job.project.as_str(), job.domain.as_str()), ("ann", "physics", "unknown"));
    assert_eq!(job.resource_group, "alpha");
    assert_eq!(job.submitted_at, Some(at("2026-02-01T07:59:00Z")));
    assert_eq!(job.started_at, Some(at("2026-02-01T08:00:00Z")));
    assert_eq!(job.terminated_at, Some(at("2026-02-01T09:00:00Z")));
    assert_eq!(slots(&job), "cpu=8 mem=25165824000");
    assert_eq!(
        (job.agents.only().map(String::as_str), job.queue.as_deref(), job.priority),
        (Some("n01"), Some("long"), 10)
    );
}

#[test]
fn the_header_decides_the_order_and_its_letter_case_does_not_matter() {
    let text = "end|START|state|jobid|alloctres|account|user|Extra\n\
                2026-02-01T09:00:00|2026-02-01T08:00:00|COMPLETED|42|cpu=8|physics|ann|x\n";
    let job = read("sacct", text).only_job();
    assert_eq!((job.user.as_str(), job.project.as_str()), ("ann", "physics"));
    assert_eq!(job.resource_group, "unknown");
    assert_eq!((job.submitted_at, job.agents.only(), job.queue, job.priority), (None, None, None, 0));
    // `--parsable` ends the header and every row with a separator.
    let text = "JobID|User|Account|State|Start|End|AllocTRES|\n\
                42|ann|physics|COMPLETED|2026-02-01T08:00:00|2026-02-01T09:00:00|cpu=8|\n";
    assert_eq!(read("sacct", text).only_job().user, "ann");
}

#[test]
fn an_unusable_header_is_one_clear_error() {
    assert_eq!(
        refused("sacct", "JobID|User|State|Start\n1|ann|COMPLETED|2026-02-01T08:00:00\n"),
        "the header line lacks the fields Account, End, AllocTRES"
    );
    assert_eq!(refused("sacct", format!("{HEADER}|user\n")), "the header line names the field User twice");
    assert_eq!(refused("sacct", ""), "the file is empty: it needs a header line that names its fields");
    assert_eq!(refused("sacct", b"Job\xffID|User\n".to_vec()), "the header line is not valid UTF-8");
}

#[test]
fn resources_become_slots() {
    for (tres, expected) in [
        ("cpu=4,mem=1K", "cpu=4 mem=1024"),
        ("cpu=4,mem=3M", "cpu=4 mem=3145728"),
        ("cpu=4,mem=62.50G", "cpu=4 mem=67108864000"),
        ("cpu=4,mem=1.5G", "cpu=4 mem=1610612736"),
        ("cpu=4,mem=0.1G", "cpu=4 mem=107374182.4"),
        ("cpu=4,mem=2T", "cpu=4 mem=2199023255552"),
        ("cpu=4,mem=1P", "cpu=4 mem=1125899906842624"),
        ("cpu=4,mem=512", "cpu=4 mem=536870912"),
        ("cpu=4,mem=0", "cpu=4"),
        ("cpu=4,gres/gpu=2", "cpu=4 cuda.device=2"),
        ("cpu=4,gres/gpu:a100=2,gres/gpu=2", "cpu=4 cuda.device=2"),
        ("cpu=4,gres/gpu=3,gres/gpu:a100=2,gres/gpu:t4=1", "cpu=4 cuda.device=3"),
        ("cpu=4,gres/gpu:a100=2,gres/gpu:t4=1", "cpu=4 cuda.device=3"),
        ("cpu=4,gres/shard=5,gres/nic:ib=1", "cpu=4 gres/nic:ib=1 gres/shard=5"),
    ] {
        let job = dump(&[&hour("1", tres)]).only_job();
        assert_eq!(slots(&job), expected, "{tres}");
    }
}

#[test]
fn a_job_that_ran_without_any_amount_is_dropped_and_named() {
    for tres in ["", "billing=12,node=3,energy=999"] {
        let outcome = dump(&[&hour("1", tres), &hour("2", "cpu=1")]);
        assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![DropReason::NoAmount], 1), "{tres}");
        let said = outcome.summary.to_string();
        assert!(
            said.contains("  1 dropped, first at line 2: no amount of any resource, though its job ran\n"),
            "{said}"
        );
    }
    // A job that ran for no time used nothing, and an amount of 0 is known.
    let at_once = dump(&[&hour("1", "").replace("2026-02-01T09:00:00", "2026-02-01T08:00:00"), &hour("2", "cpu=0")]);
    assert_eq!((at_once.summary.taken, at_once.summary.unmeasured), (2, 2), "{}", at_once.summary);
}

#[test]
fn a_job_of_which_no_resource_can_be_read_is_dropped() {
    let amount = DropReason::BadAmount("AllocTRES");
    let list = DropReason::BadResources("AllocTRES");
    for (tres, reason) in [
        ("cpu", list),
        ("cpu=", amount),
        ("cpu=-1", amount),
        ("cpu=NaN", amount),
        ("cpu=1e3", amount),
        ("cpu=999999999999999999999999999999999999999999999999999999999999", amount),
        ("mem=G", amount),
        ("mem=4E", amount),
        ("mem=999999999999999999999P", amount),
        ("gres/a b=1", list),
        ("cpu=x,mem=0", amount),
        ("1001=2", list),
    ] {
        assert_eq!(dump(&[&hour("1", tres)]).reasons(), [reason], "{tres}");
    }
}

#[test]
fn job_steps_are_dropped_because_their_allocation_counts() {
    let rows: Vec<String> =
        ["123", "123.batch", "123.0", "123.extern", "12_3.batch"].iter().map(|id| hour(id, "cpu=1")).collect();
    let outcome = dump(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(outcome.jobs.len(), 1);
    assert_eq!(outcome.reasons(), [DropReason::JobStep; 4]);
    let tally = outcome.summary.dropped[&DropReason::JobStep];
    assert_eq!((tally.rows, tally.first_line), (4, 3));
}

#[test]
fn arrays_and_heterogeneous_jobs_share_a_session() {
    for (id, session) in [("12_3", "12"), ("12+1", "12"), ("12_[6-10]", "12"), ("12", "12")] {
        assert_eq!(dump(&[&hour(id, "cpu=1")]).only_job().session_key, session);
    }
    let outcome = dump(&[&hour("12_3", "cpu=1"), &hour("12_4", "cpu=1")]);
    assert_ne!(outcome.jobs[0].kernel_id(), outcome.jobs[1].kernel_id());
    assert_eq!(outcome.jobs[0].session_id(), outcome.jobs[1].session_id());
}

#[test]
fn a_requeued_job_is_several_kernels_of_one_session_and_stays_so() {
    let runs = [
        "9|ann|physics|alpha|long|PREEMPTED|2026-02-01T07:00:00|2026-02-01T08:00:00|2026-02-01T08:10:00|cpu=1|n01|0",
        "9|ann|physics|alpha|long|COMPLETED|2026-02-01T08:11:00|2026-02-01T09:00:00|2026-02-01T10:00:00|cpu=1|n02|0",
    ];
    let both = dump(&runs);
    let [first, second] = both.jobs.as_slice() else { panic!("two kernels") };
    assert_ne!(first.kernel_id(), second.kernel_id());
    assert_eq!(first.session_id(), second.session_id());
    // A later dump that holds only the second run, seen while it still ran, means the same kernel.
    let later = runs[1].replace("COMPLETED", "RUNNING").replace("2026-02-01T10:00:00", "Unknown");
    assert_eq!(dump(&[&later]).only_job().kernel_id(), second.kernel_id());
}

#[test]
fn states_and_times() {
    let (start, end) = ("2026-02-01T08:00:00", "2026-02-01T09:00:00");
    for state in ["COMPLETED", "CANCELLED by 1234", "FAILED", "PREEMPTED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"] {
        let job = times(state, start, end).only_job();
        assert_eq!((job.started_at, job.terminated_at), (Some(at(start)), Some(at(end))), "{state}");
    }
    let running = times("RUNNING", start, "Unknown").only_job();
    assert_eq!((running.started_at, running.terminated_at), (Some(at(start)), None));
    for never in ["Unknown", "None", "NONE", ""] {
        let cancelled = times("CANCELLED by 1234", never, end).only_job();
        assert_eq!((cancelled.started_at, cancelled.terminated_at), (None, Some(at(end))), "{never}");
        assert_eq!(times("PENDING", never, "Unknown").reasons(), [DropReason::NotStarted]);
    }
    assert_eq!(times("COMPLETED", "1769932800", end).only_job().started_at, Some(at(start)));
    for (state, start, end, reason) in [
        ("COMPLETED", end, start, DropReason::EndBeforeStart),
        ("COMPLETED", start, "Unknown", DropReason::EndMissing),
        ("RUNNING", "Unknown", "Unknown", DropReason::StartMissing),
        ("COMPLETED", "2026-02-30T08:00:00", end, DropReason::BadTime("Start")),
        ("COMPLETED", start, "soon", DropReason::BadTime("End")),
        ("COMPLETED", start, "99999999999999999999999", DropReason::BadTime("End")),
        ("COMPLETED", start, "999999999999", DropReason::BadTime("End")),
    ] {
        assert_eq!(times(state, start, end).reasons(), [reason], "{state} {start} {end}");
    }
}

#[test]
fn a_cut_dump_of_a_running_job_accounts_to_the_cut() {
    let job = times("RUNNING", "2026-02-01T08:00:00", "2026-02-01T09:00:00").only_job();
    assert_eq!(job.terminated_at, Some(at("2026-02-01T09:00:00Z")));
}

#[test]
fn the_nodes_of_a_job_are_its_agents() {
    let too_many = format!("n[1-{}]", MAX_AGENTS_OF_KERNEL + 1);
    for (list, agents, is_skipped) in [
        ("n01", &["n01"][..], false),
        ("n[01-04]", &["n01", "n02", "n03", "n04"], false),
        ("n02,n01", &["n02", "n01"], false),
        ("a1,b[9-10,12]", &["a1", "b9", "b10", "b12"], false),
        ("None assigned", &[], false),
        ("", &[], false),
        ("a/b", &[], true),
        ("n1,a/b", &[], true),
        ("n[1-", &[], true),
        ("n1,n1", &[], true),
        (&too_many, &[], true),
    ] {
        let row = hour("1", "cpu=1").replace("|n01|", &format!("|{list}|"));
        let outcome = dump(&[&row]);
        assert_eq!(!super::skipped(&outcome).is_empty(), is_skipped, "{list}");
        assert_eq!(outcome.only_job().agents.names(), agents, "{list}");
    }
}

#[test]
fn other_bad_rows_are_dropped_with_a_reason() {
    let good = hour("1", "cpu=1");
    for (row, reason) in [
        (good.replace("|ann", ""), DropReason::FieldCount),
        (good.replace("|long|", "|lo|ng|"), DropReason::FieldCount),
        (hour("", "cpu=1"), DropReason::NoJobId),
        (good.replace("|ann|", &format!("|{}|", "x".repeat(256))), DropReason::BadName("user")),
        (good.replace("|physics|", "|phy\u{7}sics|"), DropReason::BadName("project")),
        (good.replace("|alpha|", "|al/pha|"), DropReason::BadName("resource group")),
    ] {
        assert_eq!(dump(&[&row]).reasons(), [reason], "{row}");
    }
    let top = dump(&[&good.replace("|10", "|4294901760")]).only_job();
    assert_eq!(top.priority, i32::MAX);
    let nobody = dump(&[&good.replace("|ann|physics|", "|||")]).only_job();
    assert_eq!((nobody.user.as_str(), nobody.project.as_str()), ("unknown", "unknown"));
    let without_cluster = dump(&[&good.replace("|alpha|", "||")]).only_job();
    assert_eq!(without_cluster.resource_group, "long");
}
