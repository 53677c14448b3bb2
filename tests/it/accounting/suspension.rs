//! A suspended kernel uses and holds nothing, even if the suspension is reported late.

use fairshared::domain::ids::KernelId;
use fairshared::domain::queues::QueueClaim;
use fairshared::domain::slots::SlotUsages;
use serde_json::{Value, json};

use super::{spans, usages};
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T09:00:00Z";

fn report(changes: &Value) -> Value {
    with(kernel("k", "ann", "ml", START), changes)
}

fn suspended(at: &str) -> Value {
    report(&json!({"status": "SUSPENDED", "status_at": at}))
}

fn running(at: &str) -> Value {
    report(&json!({"status_at": at}))
}

fn ended(at: &str) -> Value {
    report(&json!({"status": "TERMINATED", "terminated_at": at}))
}

/// All records of the kernel.
async fn recorded(f: &Fixture) -> String {
    let records = f.records("k").await;
    let mut sum = SlotUsages::default();
    for record in &records {
        sum.add(&record.usage());
    }
    sum.to_json()
}

fn held(f: &Fixture) -> Vec<String> {
    let group = f.service.group(&admin(), GROUP).unwrap();
    let sums: Vec<(&QueueClaim, _)> = group.whole().unwrap().demand.iter().collect();
    sums.iter().map(|(_, held)| held.allocated.to_json()).collect()
}

on_both! {
    async fn what_is_suspended_uses_and_holds_nothing_while_it_lasts(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T09:00:00Z").await;
        f.agent("node", &json!({"cpu": "10"})).await;
        f.ingest(&[report(&json!({}))]).await;
        assert_eq!(held(&f), [r#"{"cpu":"1"}"#]);
        f.clock.set("2026-01-13T09:30:10Z");
        f.ingest(&[suspended("2026-01-13T09:30:00.000001Z")]).await;
        assert_eq!(held(&f), Vec::<String>::new());
        for time in ["2026-01-13T09:31:00Z", "2026-01-13T09:36:00Z"] {
            f.clock.set(time);
            f.tick().await;
            assert_eq!(recorded(&f).await, usages("1800.000001"));
            let group = f.service.group(&admin(), GROUP).unwrap();
            assert!(group.whole().unwrap().occupancy().next().is_none());
        }
        // It stays so for a process that starts now.
        let f = f.restart().await;
        assert_eq!(held(&f), Vec::<String>::new());
        f.clock.set("2026-01-13T10:00:00Z");
        f.ingest(&[running("2026-01-13T09:45:00.5Z")]).await;
        assert_eq!(held(&f), [r#"{"cpu":"1"}"#]);
        f.tick().await;
        assert_eq!(recorded(&f).await, usages("2699.500001"));
        f.ingest(&[ended("2026-01-13T09:50:00Z")]).await;
        f.tick().await;
        assert_eq!(recorded(&f).await, usages("2099.500001"));
        assert_eq!(spans(&f, "k").await.first().unwrap(), "09:00:00-09:30:00");
        f.assert_conserved().await;
        assert_eq!(f.service.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn late_and_repeated_reports_in_any_order_give_the_same_usage(db: TestDb) {
        let f = Fixture::new(db, "2026-01-14T02:00:00Z").await;
        f.agent("node", &json!({"cpu": "10"})).await;
        // 09:00 to 10:00, 12:00 to 23:30, 00:30 to 01:00.
        let told = [
            running(START), suspended("2026-01-13T10:00:00Z"), running("2026-01-13T12:00:00Z"),
            suspended("2026-01-13T23:30:00Z"), running("2026-01-14T00:30:00Z"), ended("2026-01-14T01:00:00Z"),
        ];
        let mut seed: u64 = 7;
        for round in 0..12 {
            let name = format!("k{round}");
            let mut order: Vec<usize> = (0..told.len() * 2).map(|n| n % told.len()).collect();
            for at in (1..order.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(at, usize::try_from(seed >> 33).unwrap() % (at + 1));
            }
            for (n, at) in order.iter().enumerate() {
                let row = with(told[*at].clone(), &json!({"kernel_id": id(&name)}));
                let refused = f.ingest(&[row]).await;
                assert!(refused.is_empty(), "{order:?} {n}: {refused:?}");
                if (n + round) % 3 == 0 {
                    f.clock.advance_seconds(1);
                    f.tick().await;
                }
            }
            f.clock.advance_seconds(1);
            f.tick().await;
            let records = f.records(&name).await;
            let mut sum = SlotUsages::default();
            for record in &records {
                sum.add(&record.usage());
            }
            assert_eq!(sum.to_json(), usages("46800"), "{order:?}");
            let mut merged: Vec<(String, String)> = Vec::new();
            for record in &records {
                let (start, end) = (record.span().start.to_string(), record.span().end.to_string());
                match merged.last_mut().filter(|(_, last)| *last == start) {
                    Some((_, last)) => *last = end,
                    None => merged.push((start, end)),
                }
            }
            let span = |from: &str, to: &str| (from.to_owned(), to.to_owned());
            assert_eq!(merged, [
                span(START, "2026-01-13T10:00:00Z"), span("2026-01-13T12:00:00Z", "2026-01-13T23:30:00Z"),
                span("2026-01-14T00:30:00Z", "2026-01-14T01:00:00Z"),
            ], "{order:?}");
            f.assert_conserved().await;
        }
        assert_eq!(f.service.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn what_is_suspended_says_since_when(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[suspended("2026-01-13T09:30:00Z")]).await;
        let refused = f.ingest(&[report(&json!({}))]).await;
        assert_eq!((refused[0].fault.code, refused[0].fault.pointer.as_str()), ("required", "/status_at"));
        // A scheduler that does not know changes nothing.
        assert!(f.ingest(&[report(&json!({"status": "Unknown"}))]).await.is_empty());
        let known = f.service.kernel(&admin(), GROUP, KernelId(id("k"))).await.unwrap().kernel;
        assert_eq!(known.report.phase.as_str(), "SUSPENDED");
        let many: Vec<Value> = (0..1_001).map(|n| running(&format!("2026-01-13T09:{:02}:{:02}.{:03}Z", n / 60 % 60, n % 60, n / 60))).collect();
        let refused = f.ingest(&many).await;
        assert_eq!((refused.len(), refused[0].fault.code), (2, "too_many_changes"));
    }
}
