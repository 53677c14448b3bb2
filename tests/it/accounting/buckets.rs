//! Buckets (FAIR_SHARE §5): when they open, what late usage does to them, rebuilding and purging.

use fairshared::domain::ids::KernelId;
use fairshared::domain::time::Day;
use fairshared::engine::ingest::incoming::RefusedReport;
use fairshared::store::records;
use serde_json::json;

use super::history::other;
use super::{buckets, share_rows, spans};
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

/// A kernel that ran for an hour at noon.
fn hour(day: &str) -> serde_json::Value {
    let ended = json!({"status": "TERMINATED", "terminated_at": format!("{day}T13:00:00Z")});
    with(kernel(&format!("k-{day}"), "ann", "ml", &format!("{day}T12:00:00Z")), &ended)
}

#[expect(clippy::disallowed_methods, reason = "damage that no use-case can do")]
pub async fn plant(f: &Fixture, sql: &str) {
    use sea_orm::ConnectionTrait;
    f.service.store().write().execute_unprepared(sql).await.unwrap();
}

on_both! {
    async fn seven_days_share_a_bucket_and_the_eighth_opens_the_next(db: TestDb) {
        let f = Fixture::new(db, "2026-01-06T14:00:00Z").await;
        f.options(&json!({"decay_unit_days": 7})).await;
        for day in 6..=13 {
            let day = format!("2026-01-{day:02}");
            f.clock.set(&format!("{day}T14:00:00Z"));
            f.ingest(&[hour(&day)]).await;
            f.tick().await;
        }
        let expected = ["2026-01-06..2026-01-12 25200", "2026-01-13..2026-01-13 3600"];
        assert_eq!(buckets(&f, "ann", "ml").await, expected);
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
        assert_eq!(buckets(&f, "ann", "ml").await, expected);
    }

    async fn late_usage_folds_the_chain_again(db: TestDb) {
        let f = Fixture::new(db, "2026-01-20T14:00:00Z").await;
        f.options(&json!({"decay_unit_days": 7})).await;
        f.ingest(&[hour("2026-01-10"), hour("2026-01-14"), hour("2026-01-18")]).await;
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-10..2026-01-14 7200", "2026-01-18..2026-01-18 3600"]);
        f.ingest(&[hour("2026-01-08")]).await;
        f.tick().await;
        let expected = ["2026-01-08..2026-01-14 10800", "2026-01-18..2026-01-18 3600"];
        assert_eq!(buckets(&f, "ann", "ml").await, expected);
        f.ingest(&[hour("2026-01-05")]).await;
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-05..2026-01-10 10800", "2026-01-14..2026-01-18 7200"]);
        f.assert_conserved().await;
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn a_new_unit_rebuilds_this_group_only(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.agent("node", &json!({"cpu": "10"})).await;
        f.group("second", &json!({})).await;
        f.ingest(&[hour("2026-01-11"), hour("2026-01-12")]).await;
        f.tick().await;
        let elsewhere = f.service.group(&admin(), "second").unwrap().revision;
        f.options(&json!({"decay_unit_days": 7})).await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-11..2026-01-12 7200"]);
        assert_eq!(f.service.group(&admin(), "second").unwrap().revision, elsewhere);
        f.options(&json!({"decay_unit_days": null})).await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-11..2026-01-11 3600", "2026-01-12..2026-01-12 3600"]);
    }

    async fn a_slice_is_cut_at_midnight(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T23:50:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T23:50:00Z")]).await;
        f.clock.set("2026-01-14T00:05:00Z");
        assert_eq!(f.tick().await.slices_created, 2);
        assert_eq!(spans(&f, "k1").await, ["23:50:00-00:00:00", "00:00:00-00:05:00"]);
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-13..2026-01-13 600", "2026-01-14..2026-01-14 300"]);
    }

    // The record shrinks to the true end, and the bucket is summed again from the day totals of what was purged.
    async fn a_late_end_keeps_what_was_purged(db: TestDb) {
        let f = Fixture::new(db, "2026-01-01T12:00:00Z").await;
        f.options(&json!({"decay_unit_days": 7, "lookback_days": 7})).await;
        f.ingest(&[kernel("long", "ann", "ml", "2026-01-01T12:00:00Z")]).await;
        f.clock.set("2026-01-07T12:00:00Z");
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-01..2026-01-07 518400"]);
        // Records are kept for 14 days: those of January 1 to 4 go.
        f.clock.set("2026-01-19T12:00:00Z");
        let kept_from = async || {
            let found = f.service.kernel(&admin(), GROUP, KernelId(id("long"))).await.unwrap();
            (found.records_from.map(|day| day.to_string()), found.records.len())
        };
        assert_eq!(kept_from().await, (None, 7));
        f.service.purge(GROUP, 1_000).await.unwrap();
        assert_eq!(kept_from().await, (Some("2026-01-05".to_owned()), 3));
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-06T12:00:00Z"});
        f.ingest(&[with(kernel("long", "ann", "ml", "2026-01-01T12:00:00Z"), &ended)]).await;
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-01..2026-01-06 432000"]);
        f.assert_conserved().await;
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
    }

    async fn a_bucket_from_before_the_look_back_takes_what_is_reported_late(db: TestDb) {
        let f = Fixture::new(db, "2026-01-11T12:00:00Z").await;
        f.options(&json!({"decay_unit_days": 7, "lookback_days": 7})).await;
        f.ingest(&[hour("2026-01-05"), hour("2026-01-10")]).await;
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-05..2026-01-10 7200"]);
        // Records are kept for 14 days: that of January 5 goes, and its day total makes the bucket under another option.
        f.clock.set("2026-01-22T12:00:00Z");
        f.service.purge(GROUP, 1_000).await.unwrap();
        f.options(&json!({"decay_unit_days": 1, "lookback_days": 14})).await;
        f.ingest(&[hour("2026-01-11")]).await;
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-05..2026-01-05 3600", "2026-01-10..2026-01-10 3600", "2026-01-11..2026-01-11 3600"]);
        f.assert_conserved().await;
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
    }

    // Nothing can be taken back where the records are gone: saying "changed" would be a lie.
    async fn an_ended_kernel_is_not_corrected_where_its_records_are_purged(db: TestDb) {
        let f = Fixture::new(db, "2026-01-01T12:00:00Z").await;
        f.options(&json!({"decay_unit_days": 7, "lookback_days": 7})).await;
        let ended = |end: &str| {
            let end = json!({"status": "TERMINATED", "terminated_at": end});
            with(kernel("long", "ann", "ml", "2026-01-01T12:00:00Z"), &end)
        };
        f.ingest(&[ended("2026-01-06T12:00:00Z")]).await;
        f.clock.set("2026-01-07T12:00:00Z");
        f.tick().await;
        let faults = async |report| {
            let refused = f.ingest(&[report]).await;
            refused.into_iter().map(|r| (r.fault.pointer, r.fault.code)).collect::<Vec<_>>()
        };
        // As long as the records are there, an end moves back.
        assert_eq!(faults(ended("2026-01-02T12:00:00Z")).await, []);
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-01..2026-01-02 86400"]);
        assert_eq!(faults(ended("2026-01-06T12:00:00Z")).await, []);
        f.tick().await;
        // Records are kept for 14 days: those of January 1 to 4 go.
        f.clock.set("2026-01-19T12:00:00Z");
        f.service.purge(GROUP, 1_000).await.unwrap();
        assert_eq!(faults(ended("2026-01-04T12:00:00Z")).await, [("/terminated_at".to_owned(), "purged")]);
        let wider = with(ended("2026-01-06T12:00:00Z"), &json!({"occupied_slots": {"cpu": "2"}}));
        assert_eq!(faults(wider).await, [("/occupied_slots".to_owned(), "purged")]);
        assert_eq!(f.tick().await.slices_corrected, 0);
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-01..2026-01-06 432000"]);
        // An end that is known already is no correction; where records exist, an end may still move.
        assert_eq!(faults(ended("2026-01-06T12:00:00Z")).await, []);
        assert_eq!(faults(ended("2026-01-05T12:00:00Z")).await, []);
        f.tick().await;
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-01..2026-01-05 345600"]);
        f.assert_conserved().await;
    }

    async fn purging_and_late_usage_of_purged_days_stay_conserved(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T14:00:00Z").await;
        f.options(&json!({"decay_unit_days": 3, "lookback_days": 3})).await;
        let of_bob = |k: serde_json::Value| with(k, &json!({
            "kernel_id": fairshared::process::random::id(), "user_uuid": crate::support::fixture::id("bob"),
        }));
        let big = with(hour("2026-01-08"), &json!({"occupied_slots": {"cpu": "5"}}));
        f.ingest(&[hour("2026-01-05"), big, of_bob(hour("2026-01-07")), of_bob(hour("2026-01-09"))]).await;
        f.tick().await;
        f.clock.set("2026-01-15T14:00:00Z");
        // The cut runs through the domain's bucket, but between those of its users.
        let (records, removed) = f.service.purge(GROUP, 6).await.unwrap();
        assert!(records > 0 && removed > 0);
        f.assert_conserved().await;
        f.ingest(&[hour("2026-01-06"), hour("2026-01-04"), of_bob(hour("2026-01-12"))]).await;
        f.tick().await;
        f.assert_conserved().await;
        assert_eq!(other(&f).await.rebuild(GROUP).await.unwrap(), 0);
    }

    // Buckets before the first record have no source.
    async fn the_audit_sees_records_that_vanished(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.ingest(&[hour("2026-01-11"), hour("2026-01-12")]).await;
        f.tick().await;
        let db = f.service.store();
        let (first, _) = records::page(db.read(), f.key(), Day::MIN, None, 1).await.unwrap();
        records::delete(db.write(), f.key(), first[0].stored.kernel, [first[0].span().end]).await.unwrap();
        let found = f.service.audit_conservation(&crate::support::fixture::admin(), GROUP).await.unwrap();
        assert!(found.difference.unwrap().row.ends_with("2026-01-11"));
    }

    async fn the_audit_sees_shares_that_no_calculation_gives(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.ingest(&[hour("2026-01-11"), hour("2026-01-12"), hour("2026-01-10")]).await;
        f.tick().await;
        f.assert_conserved().await;
        // A rebuild calculates everything again.
        let is_found_and_mended = async |tier: &str, about: &str| {
            let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap();
            let difference = found.difference.unwrap();
            assert!(difference.row.starts_with(&format!("share of {tier}:")), "{difference:?}");
            assert!(difference.detail.starts_with(about), "{difference:?}");
            other(&f).await.rebuild(GROUP).await.unwrap();
            f.assert_conserved().await;
        };
        share_rows::damage(&f).await;
        is_found_and_mended("user", "its decayed usage is").await;
        plant(&f, "UPDATE project_fair_shares SET total_decayed_usage = '{\"cpu\":\"1\"}'").await;
        is_found_and_mended("project", "its decayed usage is").await;
        plant(&f, "UPDATE domain_fair_shares SET fair_share_factor = fair_share_factor / 2").await;
        is_found_and_mended("domain", "its factor is").await;
        // Also where a longer look-back reaches buckets whose records are purged.
        f.options(&json!({"lookback_days": 2})).await;
        f.clock.set("2026-01-20T14:00:00Z");
        f.service.purge(GROUP, 1_000).await.unwrap();
        f.options(&json!({"lookback_days": 28})).await;
        f.tick().await;
        plant(&f, "UPDATE project_fair_shares SET total_decayed_usage = '{\"cpu\":\"1\"}'").await;
        is_found_and_mended("project", "its decayed usage is").await;
    }

    async fn ended_kernels_are_removed_and_never_taken_again(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.ingest(&[hour("2026-01-13")]).await;
        f.ingest(&[kernel("runs", "bob", "ml", "2026-01-13T12:00:00Z")]).await;
        f.tick().await;
        f.clock.set("2026-03-01T14:00:00Z");
        f.tick().await;
        // 28 days, one of a bucket, and a week: from the 24th of January on.
        f.service.purge(GROUP, 1_000).await.unwrap();
        assert_eq!(f.service.purge_kernels(GROUP, 0).await.unwrap(), 1);
        assert_eq!(f.service.purge_kernels(GROUP, 0).await.unwrap(), 0);
        let refused = f.ingest(&[hour("2026-01-13")]).await;
        assert_eq!((refused[0].fault.code, refused[0].fault.pointer.as_str()), ("too_old", "/terminated_at"));
        assert!(f.ingest(&[hour("2026-01-25")]).await.is_empty());
        assert_eq!(f.tick().await.kernels, 2);
        f.assert_conserved().await;
    }

    async fn what_is_kept_for_ever_stays(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.ingest(&[hour("2026-01-13")]).await;
        f.tick().await;
        f.clock.set("2026-03-01T14:00:00Z");
        f.tick().await;
        let before = f.day_totals().await;
        for days in [u32::MAX, i32::MAX.unsigned_abs() + 1, 1_000_000] {
            assert_eq!(f.service.compact(GROUP, days).await.unwrap().days, 0);
            f.service.purge(GROUP, days).await.unwrap();
            assert_eq!(f.service.purge_kernels(GROUP, days).await.unwrap(), 0);
            assert_eq!(f.day_totals().await, before);
        }
        assert!(!before.is_empty() && f.ingest(&[hour("2026-01-14")]).await.is_empty());
    }

    async fn a_removed_kernel_is_not_counted_again_by_what_was_reported_before_its_end(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        let waits = with(hour("2026-01-13"), &json!({"status": "PENDING", "started_at": null, "terminated_at": null}));
        let runs = with(hour("2026-01-13"), &json!({"status": "RUNNING", "terminated_at": null}));
        let story = [waits, runs, hour("2026-01-13")];
        assert!(f.ingest(&story).await.is_empty());
        f.tick().await;
        f.clock.set("2026-03-01T14:00:00Z");
        f.tick().await;
        f.service.purge(GROUP, 1_000).await.unwrap();
        assert_eq!(f.service.purge_kernels(GROUP, 0).await.unwrap(), 1);
        let before = f.day_totals().await;
        let codes = |refused: Vec<RefusedReport>| {
            refused.into_iter().map(|refused| (refused.at, refused.fault.code, refused.fault.pointer)).collect::<Vec<_>>()
        };
        // In one report and in several, with and without what it waited.
        let started = (0, "too_old", "/started_at".to_owned());
        let ended = |at| (at, "too_old", "/terminated_at".to_owned());
        assert_eq!(codes(f.ingest(&story[1..]).await), [started.clone(), ended(1)]);
        for report in &story[1..] {
            assert_eq!(codes(f.ingest(std::slice::from_ref(report)).await).len(), 1);
        }
        let both = [(1, "too_old", "/started_at".to_owned()), ended(2)];
        assert_eq!(codes(f.ingest(&story).await), both);
        assert_eq!(codes(f.ingest(&story[1..=1]).await), [started]);
        f.tick().await;
        assert_eq!(f.day_totals().await, before);
        // A kernel that ran or waited into the retained time was never removed, so reports about it are accepted.
        let long = with(hour("2026-01-13"), &json!({"kernel_id": id("long"), "terminated_at": "2026-02-20T00:00:00Z"}));
        let new = with(hour("2026-02-20"), &json!({"kernel_id": id("new"), "status": "RUNNING", "terminated_at": null}));
        assert_eq!(codes(f.ingest(&[long, new]).await), []);
        f.tick().await;
        f.assert_conserved().await;
    }
}
