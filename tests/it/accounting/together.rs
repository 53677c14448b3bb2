//! Concurrent writers, clients that disconnect, and jobs of two processes on one database.

use std::sync::Arc;

use fairshared::domain::ids::UserId;
use fairshared::domain::weight::Weight;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::jobs::JobControl;
use fairshared::service::weights::{WeightItem, WeightTarget};
use fairshared::service::{Error, Service};
use futures::FutureExt;
use serde_json::json;

use super::history::{group_snapshot, other};
use super::usages;
use crate::support::fixture::{Fixture, GROUP, admin, id, incoming, kernel, surely, with};
use crate::support::on_both;

async fn now(service: &Arc<Service>, job: &str) -> Result<Vec<fairshared::service::jobs::JobRun>, Error> {
    JobRunner::new(Arc::clone(service), JobSettings::default()).run_now(job.into(), Some(GROUP.into())).await.unwrap()
}

on_both! {
    async fn a_run_does_not_look_for_what_another_process_left_settled(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T09:30:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z"), &ended)]).await;
        let run = async || {
            f.clock.advance_seconds(300);
            let before = f.service.store().statements();
            f.service.aggregate(GROUP).await.unwrap();
            f.service.store().statements() - before
        };
        run().await;
        let steady = run().await;
        // It never ran, so there is nothing to record.
        let cancelled = with(kernel("k2", "ann", "ml", "2026-01-13T09:00:00Z"), &json!({"status": "CANCELLED", "started_at": null, "terminated_at": "2026-01-13T09:30:00Z"}));
        other(&f).await.ingest(&admin(), GROUP, vec![incoming(&cancelled)]).await.unwrap();
        assert_eq!(f.service.refresh().await.unwrap(), 1);
        assert_eq!(run().await, steady);
    }

    async fn writers_of_two_processes_neither_lose_nor_lock_up(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.agent("node", &json!({"cpu": "10"})).await;
        f.group("second", &json!({})).await;
        f.ingest(&[kernel("first", "u0", "ml", "2026-01-13T09:00:00Z")]).await;
        let second = other(&f).await;
        let mut tasks = tokio::task::JoinSet::new();
        for round in 0..8 {
            let service = if round % 2 == 0 { Arc::clone(&f.service) } else { Arc::clone(&second) };
            tasks.spawn(async move {
                let group = if round % 4 < 2 { GROUP } else { "second" };
                for n in 0..5 {
                    let report = |k: u32| {
                        let name = format!("k{round}-{n}-{k}");
                        incoming(&kernel(&name, &format!("u{}", k % 7), &format!("p{}", (k + n) % 5), "2026-01-13T09:00:00Z"))
                    };
                    assert!(service.ingest(&admin(), group, (0..20).map(report).collect()).await.unwrap().is_empty());
                    service.aggregate(GROUP).await.unwrap();
                    let item = WeightItem { target: WeightTarget::User(UserId(id("u0")), None), weight: Some(Weight::parse("2").unwrap()) };
                    service.put_weights(admin(), GROUP.into(), vec![item], None).await.unwrap();
                    let found = service.audit_conservation(&admin(), GROUP).await.unwrap();
                    assert_eq!(found.difference, None);
                    service.refresh().await.unwrap();
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        f.service.refresh().await.unwrap();
        f.service.aggregate(GROUP).await.unwrap();
        f.service.aggregate("second").await.unwrap();
        for (group, kernels) in [(GROUP, 401), ("second", 400)] {
            let found = f.service.audit_conservation(&admin(), group).await.unwrap();
            assert_eq!(found.difference, None);
            assert_eq!(found.totals[0].to_json(), usages(&(kernels * 3_600).to_string()));
        }
        second.refresh().await.unwrap();
        assert_eq!(group_snapshot(&second.group(&admin(), GROUP).unwrap()), group_snapshot(&f.service.group(&admin(), GROUP).unwrap()));
    }

    async fn a_write_goes_on_when_its_caller_has_gone(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
        for _ in 0..5 {
            f.clock.advance_seconds(60);
            // Polled once, then dropped.
            assert!(f.service.aggregate(GROUP).now_or_never().is_none());
        }
        // In any order of these, nothing is lost and nothing counts twice.
        f.tick().await;
        f.assert_conserved().await;
        let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap();
        assert_eq!(found.totals[0].to_json(), usages("3900"));
    }

    // A cancelled `begin` may leave its transaction open on the connection; the pool must not hand it on.
    async fn a_cancelled_begin_leaves_no_transaction_open(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
        for polls in 1..40 {
            let mut begin = Box::pin(f.service.store().begin());
            for _ in 0..polls {
                if begin.as_mut().now_or_never().is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // Single statements on every connection are seen by all others at once: none runs in a forgotten transaction.
        let second = other(&f).await;
        for _ in 0..20 {
            f.clock.advance_seconds(60);
            f.tick().await;
            f.service.job_started("aggregate", Some(GROUP), "manual", uuid::Uuid::nil()).await.unwrap();
            let mine = f.service.last_job_runs(&admin()).await.unwrap();
            assert_eq!(second.last_job_runs(&admin()).await.unwrap(), mine);
        }
        f.assert_conserved().await;
    }

    async fn a_job_runs_in_one_process_at_a_time_and_is_recorded(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
        let second = other(&f).await;
        let run = now(&second, "aggregate").await.unwrap().remove(0);
        assert_eq!((run.status.as_str(), run.trigger.as_str(), &run.counts["slices_created"]), ("succeeded", "manual", &json!(1)));
        f.service.refresh().await.unwrap();
        assert_eq!(group_snapshot(&second.group(&admin(), GROUP).unwrap()), group_snapshot(&f.service.group(&admin(), GROUP).unwrap()));
    }

    async fn a_failed_run_is_recorded_and_the_next_one_works(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let missing = JobRunner::new(Arc::clone(&f.service), JobSettings::default())
            .run_now("aggregate".into(), Some("gone".into()))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(missing[0].status, "failed");
        assert!(missing[0].error.is_some() && missing[0].ended_at.is_some());
        assert_eq!(now(&f.service, "aggregate").await.unwrap()[0].status, "succeeded");
        assert!(JobRunner::new(Arc::clone(&f.service), JobSettings::default()).run_now("nothing".into(), None).await.is_none());
    }

    async fn a_group_made_again_shows_nothing_of_the_old_one(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
        let second = other(&f).await;
        f.service.delete_group(admin(), GROUP.into(), surely(GROUP)).await.unwrap();
        f.clock.advance_seconds(1);
        f.group(GROUP, &json!({})).await;
        second.refresh().await.unwrap();
        assert!(second.group(&admin(), GROUP).unwrap().whole().unwrap().rows.users.is_empty());
        assert!(f.service.group(&admin(), GROUP).unwrap().whole().unwrap().rows.users.is_empty());
    }
}
