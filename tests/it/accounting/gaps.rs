//! Downtime (FAIR_SHARE §4): the usage that is recorded, the usage that is dropped, and the gaps that are shown.

use std::sync::Arc;

use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::Service;
use fairshared::service::jobs::JobControl;
use serde_json::json;

use super::{spans, usages};
use crate::support::fixture::{Fixture, GROUP, kernel, with};
use crate::support::on_both;

/// One kernel from 10:00, recorded to 10:05; the service is back at 10:25.
async fn down_from_10_05_to_10_25(db: crate::support::database::TestDb, policy: &str) -> Fixture {
    let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
    f.options(&json!({"gap_policy": policy})).await;
    f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T10:00:00Z")]).await;
    f.clock.set("2026-01-13T10:05:00Z");
    f.tick().await;
    f.clock.set("2026-01-13T10:25:00Z");
    f.restart().await
}

async fn gaps(f: &Fixture) -> Vec<(String, String, String, u64)> {
    let window = fairshared::store::key_list::IdWindow { limit: 100, ..Default::default() };
    let gaps = fairshared::store::runs::load_gaps(f.service.store().read(), GROUP, &window).await.unwrap().rows;
    let text = |g: &fairshared::store::runs::DowntimeGap| {
        (g.downtime.start.to_string(), g.recorded_usage.to_json(), g.dropped_usage.to_json(), g.kernels)
    };
    gaps.iter().rev().map(text).collect()
}

on_both! {
    async fn interpolate_records_the_downtime(db: TestDb) {
        let f = down_from_10_05_to_10_25(db, "interpolate").await;
        f.clock.set("2026-01-13T10:30:00Z");
        assert_eq!(f.tick().await.gaps, 1);
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00", "10:05:00-10:30:00"]);
        let gap = ("2026-01-13T10:05:00Z".to_owned(), usages("1200"), "{}".to_owned(), 1);
        assert_eq!(gaps(&f).await, [gap]);
        f.assert_conserved().await;
    }

    async fn ignore_leaves_the_downtime_out(db: TestDb) {
        let f = down_from_10_05_to_10_25(db, "ignore").await;
        f.clock.set("2026-01-13T10:30:00Z");
        f.tick().await;
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00", "10:25:00-10:30:00"]);
        assert_eq!(gaps(&f).await, [("2026-01-13T10:05:00Z".to_owned(), "{}".to_owned(), usages("1200"), 1)]);
        f.assert_conserved().await;
    }

    async fn a_start_reads_what_it_knows_once(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let next = Service::new(f.db.store().await, Arc::clone(&f.clock) as _).await.unwrap();
        let before = next.store().statements();
        next.start_serving().await.unwrap();
        assert_eq!(next.store().statements() - before, 1);
        assert!(next.start_serving().await.is_err());
    }

    async fn starts_beyond_every_look_back_are_forgotten(db: TestDb) {
        let mut f = Fixture::new(db, "2026-01-01T10:00:00Z").await;
        f.options(&json!({"lookback_days": 5, "gap_policy": "ignore"})).await;
        for day in 2..=9 {
            f.clock.set(&format!("2026-01-{day:02}T10:00:00Z"));
            f = f.restart().await;
            f.clock.advance_seconds(3_600);
            f.service.heartbeat().await.unwrap();
        }
        let starts = async |f: &Fixture| {
            let runs = fairshared::store::runs::list(f.service.store().read()).await.unwrap();
            runs.iter().map(|r| r.started_at.to_string()[8..10].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(starts(&f).await.len(), 9);
        f.clock.set("2026-01-13T10:00:00Z");
        // The look-back of 5 days and a bucket of one begin on the 7th: the run before says what was down then.
        assert_eq!(f.service.purge_service_runs().await.unwrap(), 5);
        assert_eq!(starts(&f).await, ["06", "07", "08", "09"]);
        assert_eq!(f.service.purge_service_runs().await.unwrap(), 0);
        let now = JobRunner::new(Arc::clone(&f.service), JobSettings::default()).run_now("tidy".into(), None);
        assert_eq!(now.await.unwrap().unwrap()[0].counts["service_runs"], 0);
    }

    async fn a_kernel_that_ended_in_an_ignored_downtime_is_settled_without_a_slice(db: TestDb) {
        let f = down_from_10_05_to_10_25(db, "ignore").await;
        let end = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T10:15:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-13T10:00:00Z"), &end)]).await;
        assert_eq!(f.tick().await.slices_created, 0);
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00"]);
        assert_eq!(f.tick().await.kernels, 0);
    }

    async fn a_restart_shorter_than_one_slice_interval_loses_nothing(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.options(&json!({"gap_policy": "ignore"})).await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T10:00:00Z")]).await;
        f.clock.set("2026-01-13T10:05:00Z");
        f.tick().await;
        f.clock.set("2026-01-13T10:09:59Z");
        let f = f.restart().await;
        f.clock.set("2026-01-13T10:10:00Z");
        assert_eq!(f.tick().await.gaps, 0);
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00", "10:05:00-10:10:00"]);
    }

    async fn a_first_slice_is_never_a_gap(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.options(&json!({"gap_policy": "ignore"})).await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T10:00:00Z")]).await;
        f.clock.set("2026-01-13T10:25:00Z");
        let f = f.restart().await;
        assert_eq!(f.tick().await.gaps, 0);
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:25:00"]);
    }

    async fn max_gap_hours_limits_and_shows_all_that_it_drops(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.options(&json!({"max_gap_hours": 2})).await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T10:00:00Z")]).await;
        f.clock.set("2026-01-13T10:05:00Z");
        f.tick().await;
        // Alive for another minute without a run, then down for five hours.
        f.clock.set("2026-01-13T10:06:00Z");
        f.service.heartbeat().await.unwrap();
        f.clock.set("2026-01-13T15:06:00Z");
        let f = f.restart().await;
        f.tick().await;
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00", "13:06:00-15:06:00"]);
        assert_eq!(gaps(&f).await, [("2026-01-13T10:06:00Z".to_owned(), usages("7200"), usages("10860"), 1)]);
    }

    async fn two_restarts_without_a_run_between_are_two_gaps(db: TestDb) {
        let f = down_from_10_05_to_10_25(db, "ignore").await;
        f.clock.set("2026-01-13T10:30:00Z");
        f.service.heartbeat().await.unwrap();
        f.clock.set("2026-01-13T10:40:00Z");
        let f = f.restart().await;
        f.clock.set("2026-01-13T10:45:00Z");
        assert_eq!(f.tick().await.gaps, 2);
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00", "10:25:00-10:30:00", "10:40:00-10:45:00"]);
        f.assert_conserved().await;
    }
}
