//! Slices, buckets, factors and ranks through the service, on real databases.

mod history;
mod model;

use serde_json::json;

use crate::support::fixture::{Fixture, GROUP, id, kernel, with};
use crate::support::on_both;

on_both! {
    async fn one_kernel_from_start_to_end(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.agent("node-1", &json!({"cpu": "10"})).await;
        f.ingest(&[with(kernel("k1", "alice", "ml", "2026-01-13T10:00:00Z"), &json!({"occupied_slots": {"cpu": "5"}}))]).await;
        for _ in 0..4 {
            f.clock.advance_seconds(300);
            assert_eq!(f.tick().await.slices_created, 1);
            assert_eq!(f.tick().await.slices_created, 0);
        }
        f.clock.advance_seconds(300);
        f.ingest(&[with(kernel("k1", "alice", "ml", "2026-01-13T10:00:00Z"), &json!({
            "occupied_slots": {"cpu": "5"}, "status": "TERMINATED", "terminated_at": "2026-01-13T10:23:00Z",
        }))]).await;
        assert_eq!(f.tick().await.slices_created, 1);
        f.assert_conserved().await;
        let group = f.service.group(GROUP).unwrap();
        let alice = group.memberships(fairshared::domain::ids::UserId(id("alice"))).next().unwrap();
        // 5 CPU x 1380 s over 10 CPU x 86400 s, in a window of 28 days.
        let expected: f64 = 5.0 * 1380.0 / (10.0 * 86_400.0) / 28.0;
        assert!((alice.share.history.normalized_usage - expected).abs() < 1e-15);
    }
}
