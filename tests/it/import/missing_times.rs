//! Jobs that ran, and whose rows lack a start.

use fairshared::cli::import::reason::DropReason;
use serde_json::{Value, json};

use super::{Outcome, at, read, skipped, slots};

const END: &str = "2026-11-20T11:00:00";
/// 2026-11-20T11:00:00Z.
const END_SECONDS: u32 = 1_795_172_400;

fn dump(state: &str, start: &str, end: &str, elapsed: &str, suspended: &str) -> Outcome {
    let header = "JobID|Cluster|User|Account|State|Start|End|ElapsedRaw|Suspended|AllocCPUS|AllocGRES";
    read("sacct", format!("{header}\n1|c1|ann|bio|{state}|{start}|{end}|{elapsed}|{suspended}|4|gpu:1\n"))
}

fn document(state: &str, start: &Value, elapsed: &Value) -> Outcome {
    let job = json!({
        "job_id": 1, "user": "ann", "account": "bio", "cluster": "c1", "state": {"current": [state]},
        "time": {"start": start, "end": END_SECONDS, "elapsed": elapsed},
        "tres": {"allocated": "cpu=4,gres/gpu=1"},
    });
    read("sacct", json!({"jobs": [job]}).to_string())
}

#[track_caller]
fn ran_for_an_hour(outcome: Outcome) {
    let job = outcome.only_job();
    assert_eq!(
        (job.started_at, job.terminated_at),
        (Some(at("2026-11-20T10:00:00Z")), Some(at("2026-11-20T11:00:00Z")))
    );
    assert_eq!(slots(&job), "cpu=4 cuda.device=1");
}

#[track_caller]
fn is_dropped(outcome: &Outcome, reason: DropReason) {
    assert_eq!((outcome.reasons(), outcome.summary.dropped_started), (vec![reason], 1));
}

#[track_caller]
fn never_ran(outcome: Outcome) {
    assert_eq!(outcome.only_job().started_at, None);
}

#[test]
fn the_end_and_the_run_time_give_the_start() {
    for state in
        ["COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED", "CANCELLED by 1000", "DEADLINE"]
    {
        for start in ["Unknown", "None", ""] {
            ran_for_an_hour(dump(state, start, END, "3600", ""));
        }
        ran_for_an_hour(document(state, &json!(0), &json!(3600)));
    }
    // It ends once it has run for that long, as with a start in the row.
    let suspended = dump("COMPLETED", "Unknown", END, "3000", "00:10:00").only_job();
    let times = [suspended.started_at, suspended.terminated_at];
    assert_eq!(times, ["2026-11-20T10:00:00Z", "2026-11-20T10:50:00Z"].map(|time| Some(at(time))));
    ran_for_an_hour(document("COMPLETED", &json!(null), &json!("01:00:00")));
    // It is the same kernel as that of a row with the start.
    let (with, without) =
        (dump("COMPLETED", "2026-11-20T10:00:00", END, "3600", ""), dump("COMPLETED", "", END, "3600", ""));
    assert_eq!(with.only_job().kernel_id(), without.only_job().kernel_id());
    // A start that cannot be read is left out and counted.
    let outcome = dump("COMPLETED", "soon", END, "3600", "");
    assert_eq!(skipped(&outcome), [("Start", 1)]);
    ran_for_an_hour(outcome);
    let outcome = document("COMPLETED", &json!("soon"), &json!(3600));
    assert_eq!(skipped(&outcome), [("start", 1)]);
    ran_for_an_hour(outcome);
}

#[test]
fn a_job_that_ran_and_has_no_start_is_dropped() {
    for state in ["COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", "OUT_OF_ME+"] {
        is_dropped(&dump(state, "Unknown", END, "", ""), DropReason::StartMissing);
        is_dropped(&dump(state, "Unknown", "Unknown", "3600", ""), DropReason::StartMissing);
        is_dropped(&document(state, &json!(0), &json!(null)), DropReason::StartMissing);
    }
    is_dropped(&dump("CANCELLED", "Unknown", "Unknown", "3600", ""), DropReason::StartMissing);
    is_dropped(&dump("CANCELLED", "Unknown", END, "long", ""), DropReason::BadNumber("ElapsedRaw"));
    is_dropped(&dump("COMPLETED", "Unknown", END, "9999999999", ""), DropReason::StartMissing);
    for state in ["CANCELLED by 1000", "CANCELLED", "DEADLINE", "BOOT_FAIL", "REVOKED"] {
        for elapsed in ["0", ""] {
            never_ran(dump(state, "Unknown", END, elapsed, ""));
        }
        never_ran(document(state, &json!(0), &json!(0)));
    }
}

#[test]
fn records_of_pbs_without_a_start() {
    let record = |facts: &str| {
        let owner = "user=ann group=bio queue=q";
        read(
            "pbs",
            format!("11/20/2026 11:00:00;E;4.srv;{owner} {facts} Resource_List.ncpus=4 Resource_List.ngpus=1\n"),
        )
    };
    let end = format!("end={END_SECONDS}");
    ran_for_an_hour(record(&format!("{end} resources_used.walltime=01:00:00")));
    ran_for_an_hour(record(&format!("start=0 {end} resources_used.walltime=01:00:00")));
    let outcome = record(&format!("start=soon {end} resources_used.walltime=01:00:00"));
    assert_eq!(skipped(&outcome), [("start", 1)]);
    ran_for_an_hour(outcome);
    is_dropped(&record(&format!("{end} resources_used.walltime=long")), DropReason::StartMissing);
    is_dropped(&record("resources_used.walltime=01:00:00"), DropReason::EndMissing);
    never_ran(record(&end));
    never_ran(record(&format!("{end} resources_used.walltime=00:00:00")));
}
