//! Leases: a job runs in one process at a time, a dead process blocks no job, and a process that has lost its lease writes
//! nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairshared::engine::leases::{LeaseFence, LeaseResult, LeasedWork, ProcessPresence};
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::jobs::{JobControl, JobRun, OpenRun};
use fairshared::service::{Error, Service};
use serde_json::json;

use super::history::{group_snapshot, other};
use super::spans;
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, admin, kernel};
use crate::support::{on_both, time};

const AGGREGATE: &str = "aggregate/gpu-cluster";

fn runner(service: &Arc<Service>) -> Arc<JobRunner> {
    JobRunner::new(Arc::clone(service), JobSettings::default())
}

async fn run(runner: &Arc<JobRunner>, job: &str) -> Result<JobRun, Error> {
    Arc::clone(runner).run_now(job.into(), Some(GROUP.into())).await.unwrap().map(|mut runs| runs.remove(0))
}

async fn taken(service: &Service, presence: &ProcessPresence) -> LeaseFence {
    match service.take_lease(presence, AGGREGATE).await.unwrap() {
        LeaseResult::Taken(fence) => fence,
        held @ LeaseResult::Held { .. } => panic!("{held:?}"),
    }
}

/// The time for which others count a dead process as alive: none on `SQLite`, the time without heartbeats on `PostgreSQL`.
fn silence(db: &TestDb) -> Duration {
    if db.url.starts_with("sqlite") { Duration::ZERO } else { Duration::from_secs(15) }
}

/// The files of living processes beside an `SQLite` database.
fn marks(db: &TestDb) -> usize {
    let Some(file) = db.url.strip_prefix("sqlite://") else { return 0 };
    let folder = std::path::Path::new(file).parent().unwrap();
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".holder-")).count()
}

on_both! {
    async fn a_job_runs_in_one_process_at_a_time(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
        let (second, presence) = (other(&f).await, f.service.join().await.unwrap());
        let second_runner = runner(&second);
        taken(&f.service, &presence).await;
        f.clock.advance_seconds(600);
        // However long it runs, no other process does.
        let refused = run(&second_runner, "aggregate").await.unwrap_err();
        assert_eq!(refused.code(), "job_running");
        let told = format!("(process {} on ", std::process::id());
        assert!(refused.to_string().contains(&told), "{refused}");
        assert!(refused.to_string().ends_with("since 2026-01-13T10:00:00Z"), "{refused}");
        assert_eq!(run(&second_runner, "rebuild").await.unwrap().status, "succeeded");

        // It is gone without a word.
        drop(presence);
        let gone = Instant::now();
        let done = loop {
            match run(&second_runner, "aggregate").await {
                Err(Error::Conflict { code: "job_running", .. }) if gone.elapsed() < silence(&f.db) => tokio::task::yield_now().await,
                done => break done.unwrap(),
            }
        };
        assert_eq!((done.status.as_str(), done.trigger.as_str(), &done.counts["slices_created"]), ("succeeded", "manual", &json!(1)));
        f.service.refresh().await.unwrap();
        assert_eq!(group_snapshot(&second.group(&admin(), GROUP).unwrap()), group_snapshot(&f.service.group(&admin(), GROUP).unwrap()));
    }

    async fn whoever_lost_its_lease_writes_nothing(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
        let (paused, second) = (f.service.join().await.unwrap(), other(&f).await);
        let fence = taken(&f.service, &paused).await;
        // As others see one that was paused for long: it is not heard of.
        f.service.leave(&paused).await.unwrap();
        if let Some(file) = f.db.url.strip_prefix("sqlite://") {
            std::fs::remove_file(format!("{file}.holder-{}", paused.id())).unwrap();
        }
        assert_eq!(run(&runner(&second), "aggregate").await.unwrap().counts["slices_created"], 1);
        f.clock.advance_seconds(300);
        let late = || LeasedWork { group: GROUP.to_owned(), fence: Some(fence.clone()) };
        assert_eq!(f.service.aggregate(late()).await.unwrap_err().code(), "lease_lost");
        assert_eq!(f.service.rebuild(late()).await.unwrap_err().code(), "lease_lost");
        assert_eq!(f.service.purge(late(), 1_000).await.unwrap_err().code(), "lease_lost");
        assert_eq!(f.service.keep_division(late()).await.unwrap_err().code(), "lease_lost");
        assert_eq!(spans(&f, "k1").await, ["09:00:00-10:00:00"]);
        f.assert_conserved().await;
        // Its own release frees nothing that is another's.
        let (third, mine) = (second.join().await.unwrap(), taken(&second, &paused).await);
        f.service.release_lease(&fence).await.unwrap();
        assert!(matches!(second.take_lease(&paused, AGGREGATE).await.unwrap(), LeaseResult::Taken(f) if f.number == mine.number + 1));
        drop(third);
    }

    async fn runs_of_processes_that_are_gone_are_closed(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let (living, gone) = (f.service.join().await.unwrap(), f.service.join().await.unwrap());
        let start = async |group: &str, holder| f.service.job_started("aggregate", Some(group), "schedule", holder).await.unwrap();
        let (has_more_steps, abandoned) = (start("a", living.id()).await, start("b", gone.id()).await);
        let older = start("c", uuid::Uuid::nil()).await;
        f.service.leave(&gone).await.unwrap();
        drop(gone);
        f.clock.advance_seconds(30);
        let next = runner(&other(&f).await);
        next.start().await.unwrap();
        let status = async |run: OpenRun| f.service.job_run(run.id).await.unwrap().unwrap();
        assert_eq!(status(has_more_steps).await.status, "running");
        for id in [abandoned, older] {
            let run = status(id).await;
            assert_eq!((run.status.as_str(), run.ended_at), ("abandoned", Some(time("2026-01-13T10:00:30Z"))));
            assert_eq!(run.error.as_deref(), Some("the process that ran the job is gone"));
        }
        // A report of a process that was taken for dead changes nothing any more.
        f.service.job_finished(abandoned, &Ok(json!({}))).await.unwrap();
        assert_eq!(status(abandoned).await.status, "abandoned");
        next.shutdown().await;
        assert_eq!(status(has_more_steps).await.status, "running");
    }

    async fn files_of_processes_that_are_gone_are_removed(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let first = f.service.join().await.unwrap();
        let files = marks(&f.db);
        if let Some(file) = f.db.url.strip_prefix("sqlite://") {
            // A killed process leaves a file that is not locked.
            std::fs::write(format!("{file}.holder-{}", fairshared::process::random::id()), "").unwrap();
            assert_eq!((files, marks(&f.db)), (1, 2));
        }
        let second = f.service.join().await.unwrap();
        assert_eq!(marks(&f.db), files * 2);
        drop((first, second));
        assert_eq!(marks(&f.db), 0);
    }
}
