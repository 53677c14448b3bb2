//! `sacct --json` and slurmrestd's lists, as several versions of Slurm's data parser write them.

use std::io::{self, Read};

use fairshared::cli::import::TraceOptions;
use fairshared::cli::import::format::ImportFormat;
use fairshared::cli::import::reason::DropReason;
use fairshared::cli::import::source::LineSource;
use serde_json::{Value, json};

use super::{JobRow, Outcome, TraceReader, at, gzip, read, refused, report, slots};

const START: i64 = 1_770_000_600;
const END: i64 = 1_770_004_200;

/// A number as newer versions wrap it.
fn wrapped(number: i64) -> Value {
    json!({"set": true, "infinite": false, "number": number})
}

/// A finished hour of an array task as the newest version writes it.
fn job() -> Value {
    json!({
        "account": "physics", "cluster": "alpha", "partition": "long", "user": "ann", "group": "staff", "job_id": 15,
        "array": {"job_id": 12, "task_id": wrapped(3), "task": "", "limits": {"max": {"running": {"tasks": 0}}}},
        "het": {"job_id": 0, "job_offset": {"set": false, "infinite": false, "number": 0}},
        "association": {"account": "physics", "cluster": "alpha", "partition": "", "user": "ann", "id": 7},
        "name": "run", "nodes": "n01", "priority": wrapped(4_294_901_759), "required": {"CPUs": 8},
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "steps": [{"step": {"id": "15.batch"}, "time": {"start": wrapped(START), "end": wrapped(END)}}],
        "time": {
            "elapsed": 3600, "eligible": 1_770_000_000, "submission": 1_770_000_000, "start": START, "end": END,
            "suspended": 0, "limit": wrapped(60), "system": {"seconds": 1, "microseconds": 2},
        },
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "id": 1, "count": 8}, {"type": "mem", "name": "", "id": 2, "count": 24_000},
                {"type": "energy", "name": "", "id": 3, "count": -2}, {"type": "node", "name": "", "id": 4, "count": 1},
                {"type": "billing", "name": "", "id": 5, "count": 8},
                {"type": "gres", "name": "gpu", "id": 1001, "count": 2},
                {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 2},
                {"type": "license", "name": "matlab", "id": 1003, "count": 1},
            ],
            "requested": [{"type": "cpu", "name": "", "id": 1, "count": 64}],
        },
    })
}

fn with(changes: &Value) -> Value {
    let mut job = job();
    for (pointer, value) in changes.as_object().unwrap() {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        job.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    job
}

fn document(jobs: &[Value]) -> Outcome {
    let document = json!({"meta": {"slurm": {"version": {"major": "24"}}}, "errors": [], "warnings": [], "jobs": jobs});
    read("sacct", serde_json::to_string_pretty(&document).unwrap())
}

#[test]
fn a_job_of_the_database() {
    let job = document(&[job()]).only_job();
    assert_eq!((job.job_key.as_str(), job.session_key.as_str()), ("15@1770000600", "12"));
    assert_eq!((job.user.as_str(), job.project.as_str(), job.resource_group.as_str()), ("ann", "physics", "alpha"));
    assert_eq!(job.submitted_at, Some(at("2026-02-02T02:40:00Z")));
    assert_eq!(job.started_at, Some(at("2026-02-02T02:50:00Z")));
    assert_eq!(job.terminated_at, Some(at("2026-02-02T03:50:00Z")));
    assert_eq!(slots(&job), "cpu=8 cuda.device=2 license/matlab=1 mem=25165824000");
    assert_eq!(
        (job.agents.only().map(String::as_str), job.queue.as_deref(), job.priority),
        (Some("n01"), Some("long"), i32::MAX)
    );
    assert_eq!(job.limit_seconds, Some(3_600));
}

#[test]
fn text_and_json_and_the_controller_mean_the_same_kernel() {
    let text = "JobID|JobIDRaw|Cluster|Partition|User|Account|State|Submit|Start|End|AllocTRES|NodeList|Priority|Timelimit\n\
        12_3|15|alpha|long|ann|physics|COMPLETED|2026-02-02T02:40:00|2026-02-02T02:50:00|2026-02-02T03:50:00|\
        billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,license/matlab=1,mem=24000M,node=1|n01|4294901759|01:00:00\n";
    let text = read("sacct", text).only_job();
    assert_eq!(text.limit_seconds, Some(3_600));
    let of_database = document(&[job()]).only_job();
    let of_controller = document(&[json!({
        "account": "physics", "cluster": "alpha", "partition": "long", "user_id": 1001, "user_name": "ann", "job_id": 15,
        "array_job_id": wrapped(12), "array_task_id": wrapped(3), "het_job_id": wrapped(0), "job_state": ["COMPLETED"],
        "submit_time": wrapped(1_770_000_000), "start_time": wrapped(START), "end_time": wrapped(END), "nodes": "n01",
        "priority": wrapped(4_294_901_759), "time_limit": wrapped(60), "job_resources": {"nodes": {"count": 1}},
        "tres_alloc_str": "cpu=8,mem=24000M,node=1,billing=8,license/matlab=1,gres/gpu=2,gres/gpu:a100=2",
    })])
    .only_job();
    for other in [of_database, of_controller] {
        assert_eq!((other.kernel_id(), other.session_id()), (text.kernel_id(), text.session_id()));
        assert_eq!(report(&other), report(&text));
        assert_eq!(other.limit_seconds, Some(3_600));
    }
}

#[test]
fn older_versions_tell_the_same() {
    let plain = with(&json!({
        "/state": {"current": "COMPLETED", "reason": "None"}, "/priority": 4_294_901_759_u32,
        "/het": {"job_id": 0, "job_offset": null}, "/array/task_id": 3,
    }));
    assert_eq!(document(&[plain]).only_job(), document(&[job()]).only_job());
    let all_wrapped = with(&json!({
        "/job_id": wrapped(15), "/time/start": wrapped(START), "/time/end": wrapped(END), "/time/suspended": wrapped(0),
        "/time/submission": wrapped(1_770_000_000), "/array/job_id": wrapped(12), "/time/elapsed": "3600",
    }));
    assert_eq!(document(&[all_wrapped]).only_job(), document(&[job()]).only_job());
    // Slurm's words for no number.
    let alone = with(&json!({"/array/job_id": 0, "/het/job_id": 4_294_967_294_u32}));
    assert_eq!(document(&[alone]).only_job().session_key, "15");
    let part = with(&json!({"/array/job_id": 0, "/het/job_id": 14}));
    assert_eq!(document(&[part]).only_job().session_key, "14");
}

#[test]
fn states_and_times() {
    let running = with(&json!({"/state/current": ["RUNNING"], "/time/end": 0}));
    assert_eq!(document(&[running]).only_job().terminated_at, None);
    let suspended = with(&json!({"/time/suspended": 600, "/time/elapsed": 3000}));
    assert_eq!(document(&[suspended]).only_job().terminated_at, Some(at("2026-02-02T03:40:00Z")));
    let by_elapsed = with(&json!({"/time/end": 0}));
    assert_eq!(document(&[by_elapsed]).only_job().terminated_at, Some(at("2026-02-02T03:50:00Z")));
    // The controller says when a running job must end.
    let expected = json!({
        "job_id": 15, "job_state": ["RUNNING"], "start_time": wrapped(START), "end_time": wrapped(END), "tres_alloc_str": "cpu=1",
    });
    assert_eq!(document(&[expected]).only_job().terminated_at, None);
    let cancelled =
        with(&json!({"/state/current": ["CANCELLED"], "/time/start": 0, "/time/elapsed": 0, "/tres/allocated": []}));
    let cancelled = document(&[cancelled]).only_job();
    assert_eq!((cancelled.started_at, slots(&cancelled).as_str()), (None, ""));
    for (changes, reason) in [
        (json!({"/state/current": ["PENDING"], "/time/start": 0, "/time/end": 0}), DropReason::NotStarted),
        (json!({"/state/current": ["RUNNING"], "/time/start": 0}), DropReason::StartMissing),
        (json!({"/time/end": START - 1, "/time/elapsed": null}), DropReason::EndBeforeStart),
        (json!({"/time/end": "soon", "/time/elapsed": null}), DropReason::BadTime("end")),
        (json!({"/time/start": i64::MAX, "/time/elapsed": null}), DropReason::BadTime("start")),
        (json!({"/tres/allocated": [{"type": "cpu", "count": -4}]}), DropReason::BadAmount("tres")),
        (json!({"/tres/allocated": [{"type": "", "id": 1001, "count": 4}]}), DropReason::BadResources("tres")),
        (json!({"/job_id": null}), DropReason::NoJobId),
        (json!({"/user": "a\nb"}), DropReason::BadName("user")),
    ] {
        let outcome = document(&[job(), with(&changes)]);
        assert_eq!((outcome.reasons(), outcome.jobs.len()), (vec![reason], 1), "{changes}");
        assert_eq!(outcome.dropped[0].line, 2);
        assert!(outcome.summary.to_string().contains("first at job 2"), "{}", outcome.summary);
    }
    // An element that is not a job counts as a bad one, and the next one is read.
    let outcome = document(&[json!(null), json!(7), json!("x"), json!([job()]), json!({"time": [1, {}]}), job()]);
    assert_eq!((outcome.jobs.len(), outcome.dropped.len()), (1, 5));
}

#[test]
fn a_document_without_jobs_is_an_error() {
    for text in ["{}", "{\"jobs\": null}", "{\"jobs\": {}}", "{\"jobs\": 5}"] {
        assert_eq!(refused("sacct", text), "the JSON document has no list `jobs`", "{text}");
    }
    let faulty =
        json!({"jobs": [], "errors": [{"description": "Unable to connect to database", "error_number": 7000}]});
    let error = refused("sacct", faulty.to_string());
    assert_eq!(error, "Slurm wrote a fault instead of jobs: Unable to connect to database");
    assert_eq!(document(&[]).summary.rows, 0);
    // Notes of faults beside jobs are not about the jobs.
    let noted = json!({"errors": [{"description": "x"}], "jobs": [job()]});
    assert_eq!(read("sacct", noted.to_string()).jobs.len(), 1);
}

#[test]
fn a_document_that_breaks_off_keeps_what_came_before() {
    let third = job().to_string();
    let begun = &third[..third.find("\"steps\":").unwrap() + 8];
    let text = format!("\u{feff}{{\"jobs\": [\n{},\n{},\n{begun}", job(), job());
    let outcome = read("sacct", text.clone());
    let early = outcome.summary.ended_early.expect("cut");
    assert_eq!((outcome.jobs.len(), early.line, early.cause.as_str()), (2, 5, "the JSON document is cut off"));
    let damaged = read("sacct", text.replace("\"long\"", "long"));
    let early = damaged.summary.ended_early.expect("damaged");
    assert_eq!(damaged.jobs.len(), 0);
    assert!(early.cause.starts_with("the JSON document is damaged at column "), "{}", early.cause);
    let packed = gzip(document_of_many(5_000).as_bytes());
    let cut = read("sacct", &packed[..packed.len() - 20]);
    let early = cut.summary.ended_early.expect("cut");
    assert_eq!(early.cause, "the compressed data is cut off");
    assert!(!cut.jobs.is_empty());
}

fn document_of_many(count: usize) -> String {
    let jobs: Vec<String> = (0..count).map(|n| with(&json!({"/job_id": n + 1})).to_string()).collect();
    format!("{{\"jobs\": [{}]}}", jobs.join(","))
}

/// A list of jobs without an end.
struct Endless(Vec<u8>, usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&self.0[self.1..]).read(buffer)?;
        self.1 = (self.1 + count) % self.0.len();
        Ok(count)
    }
}

#[test]
fn jobs_come_while_the_document_goes_on() {
    let head = io::Cursor::new(format!("{{\"jobs\": [{}", job()));
    let source = LineSource::new(head.chain(Endless(format!(",{}", job()).into_bytes(), 0)), None);
    let reader = TraceReader::new(ImportFormat::named("sacct").unwrap(), source, &TraceOptions::default()).unwrap();
    let jobs = reader.take(20_000).filter(|row| matches!(row, Ok(JobRow::Job(_)))).count();
    assert_eq!(jobs, 20_000);
}
