//! Compaction of records of closed days changes nothing else: usage, factors, corrections and audits stay the same.

use std::sync::Arc;

use fairshared::domain::ids::KernelKey;
use fairshared::domain::time::{TimeSpan, Timestamp};
use fairshared::engine::accounting::compaction::merge;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::input::page::PageWindow;
use fairshared::service::jobs::JobControl;
use fairshared::store::records::NewRecord;
use proptest::prelude::*;
use serde_json::json;

use super::buckets::plant;
use super::{buckets, number, spans, user};
use crate::support::fixture::{Fixture, GROUP, admin, kernel, with};
use crate::support::{database, on_both};

/// A group with two kernels that ran for three days, with a run every six hours.
async fn three_days(db: database::TestDb) -> Fixture {
    let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
    f.ingest(&[kernel("k1", "ann", "ml", "2026-01-10T00:00:00Z"), kernel("k2", "bob", "ml", "2026-01-10T03:00:00Z")])
        .await;
    for day in 10..13 {
        for hour in [6, 12, 18] {
            f.clock.set(&format!("2026-01-{day}T{hour:02}:00:00Z"));
            f.tick().await;
        }
    }
    f.clock.set("2026-01-13T00:00:00Z");
    f.tick().await;
    f
}

on_both! {
    async fn closed_days_become_one_record_a_kernel(db: TestDb) {
        let f = three_days(db).await;
        let before = (buckets(&f, "ann", "ml").await, buckets(&f, "bob", "ml").await);
        let history = user(&f, "ann", "ml").share.history.clone();
        assert_eq!(f.records("k1").await.len(), 12);
        let done = f.service.compact(GROUP, 1).await.unwrap();
        // The 10th and the 11th: four records a day and kernel become one.
        assert_eq!((done.days, done.records_saved), (2, 12));
        let k1 = f.records("k1").await;
        let compacted: Vec<_> = k1.iter().map(|record| (record.stored.slices, record.is_compacted())).collect();
        assert_eq!(compacted, [(4, true), (4, true), (1, false), (1, false), (1, false), (1, false)]);
        assert_eq!(spans(&f, "k1").await[..2], ["00:00:00-00:00:00", "00:00:00-00:00:00"]);
        assert_eq!(spans(&f, "k2").await[0], "03:00:00-00:00:00");
        assert_eq!((buckets(&f, "ann", "ml").await, buckets(&f, "bob", "ml").await), before);
        f.assert_conserved().await;
        // Nothing is left to do, and folding the records again changes nothing.
        assert_eq!(f.service.compact(GROUP, 1).await.unwrap().days, 0);
        assert_eq!(f.service.rebuild(GROUP).await.unwrap(), 0);
        assert_eq!(user(&f, "ann", "ml").share.history, history);
        f.tick().await;
        f.assert_conserved().await;
    }

    async fn a_late_end_cuts_a_record_that_was_put_together(db: TestDb) {
        let f = three_days(db).await;
        f.service.compact(GROUP, 1).await.unwrap();
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-11T09:00:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-10T00:00:00Z"), &ended)]).await;
        f.tick().await;
        assert_eq!(spans(&f, "k1").await, ["00:00:00-00:00:00", "00:00:00-09:00:00"]);
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-10..2026-01-10 86400", "2026-01-11..2026-01-11 32400"]);
        f.assert_conserved().await;
        assert_eq!(f.service.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn a_late_suspension_is_taken_out_of_a_record_that_was_put_together(db: TestDb) {
        let f = three_days(db).await;
        f.service.compact(GROUP, 1).await.unwrap();
        let of = |at: &str, status: &str| {
            with(kernel("k1", "ann", "ml", "2026-01-10T00:00:00Z"), &json!({"status": status, "status_at": at}))
        };
        f.ingest(&[of("2026-01-11T06:00:00Z", "SUSPENDED"), of("2026-01-11T09:00:00Z", "RUNNING")]).await;
        f.tick().await;
        assert_eq!(spans(&f, "k1").await[1..3], ["00:00:00-06:00:00", "09:00:00-00:00:00"]);
        f.assert_conserved().await;
        assert_eq!(f.service.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn kernels_that_run_on_have_one_record_a_day_wherever_a_step_ends(db: TestDb) {
        // A step takes 50,000 records; the next one begins where kernels have ended between two runs.
        const RUN_ON: usize = 1_490;
        const END: usize = 500;
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let of = |n: usize| kernel(&format!("k{n}"), &format!("u{}", n % 7), "ml", "2026-01-10T00:00:00Z");
        f.ingest(&(0..RUN_ON + END).map(of).collect::<Vec<_>>()).await;
        for _ in 0..25 {
            f.clock.advance_seconds(1_800);
            f.tick().await;
        }
        f.clock.advance_seconds(1_800);
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-10T12:40:00Z"});
        f.ingest(&(RUN_ON..RUN_ON + END).map(|n| with(of(n), &ended)).collect::<Vec<_>>()).await;
        for _ in 0..12 {
            f.tick().await;
            f.clock.advance_seconds(3_600);
        }
        f.clock.set("2026-01-12T00:00:00Z");
        f.tick().await;
        let before = f.day_totals().await;
        let done = f.service.compact(GROUP, 1).await.unwrap();
        assert_eq!(done.days, 1);
        for (n, end) in [(0, "00:00:00"), (RUN_ON - 1, "00:00:00"), (RUN_ON, "12:40:00"), (RUN_ON + END - 1, "12:40:00")] {
            assert_eq!(spans(&f, &format!("k{n}")).await[0], format!("00:00:00-{end}"));
        }
        let day = "2026-01-11".parse().unwrap();
        let left = fairshared::store::records::count(f.service.store().read(), f.key(), None, day).await.unwrap();
        assert_eq!(left, (RUN_ON + END) as u64);
        assert_eq!(f.day_totals().await, before);
        f.assert_conserved().await;
    }

    async fn records_are_listed_whether_they_were_put_together_or_not(db: TestDb) {
        let f = three_days(db).await;
        f.service.compact(GROUP, 1).await.unwrap();
        let period = fairshared::service::usage_records::RecordPeriod::read("2026-01-11", "2026-01-12").unwrap();
        for user in [None, Some("bob")] {
            let user = user.map(|name| crate::support::fixture::id(name).to_string());
            let query = fairshared::service::usage_records::RecordQuery { user: user.as_deref(), project: None, domain: None, period };
            let window = PageWindow::forward(100, None);
            let page = f.service.usage_records(&admin(), GROUP, query, &window).await.unwrap();
            let per_kernel = 5;
            let kernels = if user.is_some() { 1 } else { 2 };
            assert_eq!((page.rows.len(), page.total), (kernels * per_kernel, (kernels * per_kernel) as u64));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_not_stored_as_they_are_stay_apart() {
    let f = three_days(database::sqlite().await).await;
    let before = f.records("k1").await.len();
    for damage in ["UPDATE usage_slices SET period_start = period_start + 1", "DELETE FROM usage_slices"] {
        plant(&f, "DROP TRIGGER IF EXISTS damage").await;
        let its = "group_key = NEW.group_key AND period_end = NEW.period_end AND kernel_key = NEW.kernel_key";
        let trigger = format!("CREATE TRIGGER damage AFTER INSERT ON usage_slices BEGIN {damage} WHERE {its}; END");
        plant(&f, &trigger).await;
        assert_eq!(f.service.compact(GROUP, 1).await.unwrap_err().code(), "internal");
        assert_eq!(f.records("k1").await.len(), before);
    }
    plant(&f, "DROP TRIGGER damage").await;
    assert_eq!(f.service.compact(GROUP, 1).await.unwrap().records_saved, 12);
    f.assert_conserved().await;
}

/// A group whose 300 kernels have a record for each of 36 hours, all of them in the file.
async fn records_in_a_file() -> Fixture {
    let f = Fixture::new(database::sqlite().await, "2026-01-10T00:00:00Z").await;
    let name = |at| format!("k{at}");
    let kernels: Vec<_> = (0..300).map(|at| kernel(&name(at), "ann", "ml", "2026-01-10T00:00:00Z")).collect();
    f.ingest(&kernels).await;
    for _ in 0..36 {
        f.clock.advance_seconds(3_600);
        f.tick().await;
    }
    f.service.store().save_log().await.unwrap();
    f
}

fn file_size(f: &Fixture) -> u64 {
    std::fs::metadata(f.db.url.strip_prefix("sqlite://").unwrap()).unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_shrinks_when_a_day_is_put_together() {
    let f = records_in_a_file().await;
    let before = file_size(&f);
    let done = f.service.compact(GROUP, 0).await.unwrap();
    assert_eq!((done.days, done.records_saved), (1, 300 * 23));
    // A record takes some 40 bytes.
    let saved = before - file_size(&f);
    assert!(saved > done.records_saved * 30, "{saved} bytes of {before}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_shrinks_when_records_are_purged() {
    let f = records_in_a_file().await;
    f.options(&json!({"lookback_days": 1})).await;
    f.service.store().save_log().await.unwrap();
    let before = file_size(&f);
    // Records are kept for 2 days.
    f.clock.set("2026-01-14T00:00:00Z");
    let runner = JobRunner::new(Arc::clone(&f.service), JobSettings::default());
    let runs = runner.run_now("purge".into(), Some(GROUP.into())).await.unwrap().unwrap();
    assert_eq!(runs[0].counts["records"], 300 * 36);
    let saved = before - file_size(&f);
    assert!(saved > 300 * 36 * 30, "{saved} bytes of {before}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_could_not_shrink_is_made_anew() {
    let f = records_in_a_file().await;
    let store = f.service.store();
    let mode = async || number(store, "SELECT auto_vacuum FROM pragma_auto_vacuum").await;
    // As files of the first versions were.
    plant(&f, "PRAGMA auto_vacuum = NONE; VACUUM").await;
    assert_eq!(mode().await, 0);
    let before = f.records("k1").await;
    store.migrate_up().await.unwrap();
    // 2 is "incremental".
    assert_eq!((mode().await, f.records("k1").await), (2, before));
    let before = file_size(&f);
    f.service.compact(GROUP, 0).await.unwrap();
    assert!(file_size(&f) < before);
}

proptest! {
    /// Compaction in any form: every moment of every kernel counts for the same kind as before, and no records that touch
    /// remain separate.
    #[test]
    fn merging_keeps_every_moment(
        parts in prop::collection::vec((0i64..4, prop::collection::vec((1i64..50, 0i64..3, 0i32..2), 1..12)), 1..6)
    ) {
        let mut records = Vec::new();
        for (at, (_, slices)) in (0i64..).zip(&parts) {
            let mut start = 1_000;
            for (length, gap, kind) in slices {
                start += gap;
                let span = TimeSpan { start: Timestamp::from_micros(start), end: Timestamp::from_micros(start + length) };
                records.push(NewRecord { kernel: KernelKey(at), span, kind: *kind, slices: 1 });
                start += length;
            }
        }
        let merged = merge(records.clone());
        let moments = |records: &[NewRecord]| {
            let mut moments = std::collections::BTreeMap::new();
            for record in records {
                for at in record.span.start.micros()..record.span.end.micros() {
                    prop_assert!(moments.insert((record.kernel, at), record.kind).is_none());
                }
            }
            Ok(moments)
        };
        prop_assert_eq!(moments(&merged)?, moments(&records)?);
        let slices: u32 = merged.iter().map(|record| record.slices).sum();
        prop_assert_eq!(slices as usize, records.len());
        for one in &merged {
            let follows = |other: &&NewRecord| {
                (other.kernel, other.kind, other.span.start) == (one.kernel, one.kind, one.span.end)
            };
            prop_assert!(!merged.iter().any(|other| follows(&other)));
        }
    }
}
