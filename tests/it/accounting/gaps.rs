//! Downtime (§4): what is recorded, what is dropped, and what shows afterwards.

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
    let (gaps, _) = fairshared::store::runs::gaps(f.service.store().read(), GROUP, None, 100).await.unwrap();
    let text = |g: &fairshared::store::runs::Gap| {
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
