//! Cursors (FAIR_SHARE §3): on the group's cursor, on their own after the clock jumped back, and preserved by restarts.

use serde_json::json;
use uuid::Uuid;

use super::{buckets, spans};
use crate::support::fixture::{Fixture, kernel, with};
use crate::support::on_both;

on_both! {
    async fn a_run_behind_its_group_moves_single_cursors(db: TestDb) {
        let mut f = Fixture::new(db, "2026-01-13T10:30:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T10:00:00Z")]).await;
        f.tick().await;
        f.clock.set("2026-01-13T10:20:00Z");
        f.ingest(&[kernel("k2", "bob", "ml", "2026-01-13T10:10:00Z")]).await;
        for (now, slices) in [("10:20", 1), ("10:25", 1), ("10:25", 0), ("10:40", 2), ("10:45", 2)] {
            f.clock.set(&format!("2026-01-13T{now}:00Z"));
            assert_eq!(f.tick().await.slices_created, slices, "{now}");
            f = f.restart().await;
        }
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:30:00", "10:30:00-10:40:00", "10:40:00-10:45:00"]);
        let behind = ["10:10:00-10:20:00", "10:20:00-10:25:00", "10:25:00-10:40:00", "10:40:00-10:45:00"];
        assert_eq!(spans(&f, "k2").await, behind);
        f.assert_conserved().await;
    }

    async fn those_that_end_together_go_together_and_those_between_stay(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:05:00Z").await;
        let start = "2026-01-13T10:00:00Z";
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T10:02:00Z"});
        let runs = |n: u128| n == 600 || n >= 1_300 && n.is_multiple_of(3);
        // Kernels get their keys in the order of their ids.
        let numbered = |n: u128| {
            let kernel = with(kernel("any", "ann", "ml", start), &json!({"kernel_id": Uuid::from_u128(n)}));
            if runs(n) { kernel } else { with(kernel, &ended) }
        };
        f.ingest(&(0..1_400).map(numbered).collect::<Vec<_>>()).await;
        assert_eq!(f.tick().await.kernels, 1_400);
        let f = f.restart().await;
        f.clock.set("2026-01-13T10:10:00Z");
        assert_eq!(f.tick().await.kernels, (0..1_400).filter(|n| runs(*n)).count() as u64);
        f.assert_conserved().await;
    }

    async fn restarts_keep_cursors(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:05:00Z").await;
        let start = "2026-01-13T10:00:00Z";
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T10:02:00Z"});
        f.ingest(&[kernel("k1", "ann", "ml", start), with(kernel("k2", "bob", "ml", start), &ended)]).await;
        f.tick().await;
        f.ingest(&[kernel("k3", "cem", "ml", "2026-01-13T10:04:00Z")]).await;
        let odd = json!({"occupied_slots": {"cpu": "0.000000000001", "mem": "123456789012.3"}});
        f.ingest(&[with(kernel("k4", "dee", "ml", "2026-01-12T23:59:59.999999Z"), &odd)]).await;
        f.group("other", &json!({})).await;
        let before = buckets(&f, "ann", "ml").await;
        let f = f.restart().await;
        f.clock.set("2026-01-13T10:10:00Z");
        assert_eq!(buckets(&f, "ann", "ml").await, before);
        assert_eq!(f.tick().await.kernels, 3);
        let f = f.restart().await;
        let k4: Vec<String> = f.records("k4").await.iter().map(|record| record.usage().to_json()).collect();
        assert_eq!(k4[0], r#"{"cpu":"0.000000000000000001","mem":"123456.7890123"}"#);
        assert_eq!(spans(&f, "k1").await, ["10:00:00-10:05:00", "10:05:00-10:10:00"]);
        assert_eq!(spans(&f, "k2").await, ["10:00:00-10:02:00"]);
        assert_eq!(spans(&f, "k3").await, ["10:04:00-10:10:00"]);
        f.assert_conserved().await;
    }
}
