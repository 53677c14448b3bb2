//! Capacities by day (FAIR_SHARE §5), and clocks that jump.

use fairshared::domain::slots::SlotUsages;
use serde_json::json;

use super::history::{group_snapshot, other};
use super::{capacities, user};
use crate::support::fixture::{Fixture, GROUP, admin, kernel, with};
use crate::support::on_both;

on_both! {
    async fn a_day_counts_the_time_weighted_mean(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T00:00:00Z").await;
        f.agent("a", &json!({"cpu": "10"})).await;
        f.agent("b", &json!({"cpu": "30"})).await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T06:00:00Z"), kernel("k2", "bob", "bio", "2026-01-13T18:00:00Z")]).await;
        f.clock.set("2026-01-13T12:00:00Z");
        f.service.delete_agent(admin(), GROUP.into(), "b".into(), None).await.unwrap();
        f.clock.set("2026-01-14T00:00:00Z");
        f.tick().await;
        f.clock.set("2026-01-14T12:00:00Z");
        f.tick().await;
        let expected = [r#"2026-01-13 {"cpu":"25"}"#, r#"2026-01-14 {"cpu":"10"}"#];
        assert_eq!(capacities(&f, "ann", "ml").await, expected);
        assert_eq!(capacities(&f, "bob", "bio").await, expected);
        let used: f64 = (18.0 / 25.0 + 12.0 / 10.0) / 24.0 / 28.0;
        assert!((user(&f, "ann", "ml").share.history.normalized_usage - used).abs() < 1e-12);
    }

    // Time without any agent is not observed, and is no later agent's.
    async fn a_group_without_agents_observes_nothing(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T00:00:00Z").await;
        f.agent("a", &json!({"cpu": "10"})).await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T00:00:00Z")]).await;
        f.clock.set("2026-01-13T06:00:00Z");
        f.service.delete_agent(admin(), GROUP.into(), "a".into(), None).await.unwrap();
        f.clock.set("2026-01-13T18:00:00Z");
        f.agent("b", &json!({"cpu": "40"})).await;
        f.clock.set("2026-01-14T00:00:00Z");
        f.tick().await;
        assert_eq!(capacities(&f, "ann", "ml").await, [r#"2026-01-13 {"cpu":"25"}"#]);
    }

    async fn without_agents_usage_counts_nothing_until_there_are_some(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T00:00:00Z").await;
        let old = json!({"status": "TERMINATED", "terminated_at": "2025-10-01T12:00:00Z"});
        f.ingest(&[
            kernel("k1", "ann", "ml", "2026-01-12T00:00:00Z"),
            with(kernel("k2", "ann", "ml", "2025-10-01T00:00:00Z"), &old),
        ]).await;
        f.tick().await;
        assert_eq!(user(&f, "ann", "ml").share.fair_share_factor.to_bits(), 1f64.to_bits());
        f.agent("a", &json!({"cpu": "10"})).await;
        assert!(user(&f, "ann", "ml").share.fair_share_factor < 1.0);
        // Also the bucket that no look-back reaches has its capacity now.
        let expected = [r#"2025-10-01 {"cpu":"10"}"#, r#"2026-01-12 {"cpu":"10"}"#];
        assert_eq!(capacities(&f, "ann", "ml").await, expected);
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn an_unobserved_day_takes_the_nearest_and_a_given_one_its_own(db: TestDb) {
        let f = Fixture::new(db, "2026-01-20T00:00:00Z").await;
        let days = [("2026-01-10", "8"), ("2026-01-14", "16")];
        let days = days.map(|(day, cpu)| (day.parse().unwrap(), crate::support::fixture::slots(&json!({"cpu": cpu}))));
        f.service.give_capacities(admin(), GROUP, days.into_iter().collect()).await.unwrap();
        let hour = |day: &str| {
            let ended = json!({"status": "TERMINATED", "terminated_at": format!("{day}T01:00:00Z")});
            with(kernel(day, "ann", "ml", &format!("{day}T00:00:00Z")), &ended)
        };
        f.ingest(&[hour("2026-01-09"), hour("2026-01-12"), hour("2026-01-13"), hour("2026-01-14")]).await;
        f.tick().await;
        assert_eq!(capacities(&f, "ann", "ml").await, [
            r#"2026-01-09 {"cpu":"8"}"#, r#"2026-01-12 {"cpu":"8"}"#,
            r#"2026-01-13 {"cpu":"16"}"#, r#"2026-01-14 {"cpu":"16"}"#,
        ]);
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn a_clock_that_jumps_back_sees_what_had_left_the_window(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T00:00:00Z").await;
        f.agent("a", &json!({"cpu": "10"})).await;
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-12T12:00:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-12T00:00:00Z"), &ended)]).await;
        f.tick().await;
        let before = user(&f, "ann", "ml").share.history.normalized_usage;
        assert!(before > 0.0);
        f.clock.set("2026-03-13T00:00:00Z");
        f.tick().await;
        // Aged out, with no kernel running.
        assert_eq!(user(&f, "ann", "ml").share.fair_share_factor.to_bits(), 1f64.to_bits());
        f.clock.set("2026-01-14T00:00:00Z");
        f.service.trust_clock(&admin(), None).await.unwrap();
        assert_eq!(f.tick().await.slices_created, 0);
        assert_eq!(user(&f, "ann", "ml").share.history.normalized_usage.to_bits(), before.to_bits());
        let loaded = other(&f).await.group(&admin(), GROUP).unwrap();
        assert_eq!(group_snapshot(&f.service.group(&admin(), GROUP).unwrap()), group_snapshot(&loaded));
        f.assert_conserved().await;
    }

    async fn tiny_and_huge_amounts_stay_exact(db: TestDb) {
        let f = Fixture::new(db, "2026-01-01T00:00:00Z").await;
        f.agent("a", &json!({"mem": "1000000000000000000", "x": "0.000001"})).await;
        let slots = json!({"occupied_slots": {"mem": "1000000000000000000", "x": "0.000001", "unheard": "3"}});
        let kernels: Vec<_> = (0..200).map(|n| with(kernel(&format!("k{n}"), "ann", "ml", "2026-01-01T00:00:00Z"), &slots)).collect();
        f.ingest(&kernels).await;
        f.clock.set("2026-01-29T00:00:00Z");
        f.tick().await;
        f.assert_conserved().await;
        let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap();
        let expected = r#"{"mem":"483840000000000000000000000","unheard":"1451520000","x":"483.84"}"#;
        assert_eq!(found.totals.each_ref().map(SlotUsages::to_json), [expected; 3].map(str::to_owned));
        let share = user(&f, "ann", "ml").share.clone();
        assert!(share.history.normalized_usage.is_finite() && share.fair_share_factor >= 0.0);
    }
}
