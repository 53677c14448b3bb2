//! A wrong clock: jobs pause, time is measured by a monotonic clock, and records of future times are removed.

use fairshared::engine::upkeep::health::LastingCondition;
use fairshared::service::Error;
use fairshared::store;
use serde_json::json;

use super::history::other;
use super::{spans, usages};
use crate::support::fixture::{Fixture, GROUP, admin, kernel, with};
use crate::support::{on_both, time};

fn held(result: Result<impl std::fmt::Debug, Error>) {
    assert_eq!(result.unwrap_err().code(), "clock_untrusted");
}

/// Fails unless every job is paused that would write by a wrong clock.
async fn assert_held(f: &Fixture) {
    f.service.heartbeat().await.unwrap();
    held(f.service.aggregate(GROUP).await);
    held(f.service.rebuild(GROUP).await);
    held(f.service.purge(GROUP, 1_000).await);
    held(f.service.keep_division(GROUP).await);
    let reasons: Vec<LastingCondition> = f.service.health.reasons();
    assert_eq!(reasons.iter().map(|r| r.condition.code).collect::<Vec<_>>(), ["clock_untrusted"]);
    assert!(!reasons[0].condition.refuses_writes);
}

async fn assert_released(f: &Fixture) {
    f.service.heartbeat().await.unwrap();
    f.service.check_clock().unwrap();
    assert_eq!(f.service.health.reasons(), []);
}

/// The difference between start and last heartbeat for every start.
async fn starts(f: &Fixture) -> Vec<String> {
    let runs = store::runs::list(f.service.store().read()).await.unwrap();
    runs.iter().map(|run| format!("{} - {}", run.started_at, run.last_heartbeat_at)).collect()
}

async fn days(f: &Fixture) -> Vec<String> {
    let calendar = store::capacity::load(f.service.store().read(), GROUP).await.unwrap();
    calendar.days().map(|(day, _)| day.to_string()).collect()
}

async fn gaps(f: &Fixture) -> Vec<String> {
    let window = store::key_list::IdWindow { limit: 100, ..Default::default() };
    let gaps = store::runs::load_gaps(f.service.store().read(), GROUP, &window).await.unwrap().rows;
    gaps.iter().map(|gap| format!("{} - {}", gap.downtime.start, gap.downtime.end)).collect()
}

/// One kernel since 09:00, recorded to 10:00.
async fn at_ten(db: crate::support::database::TestDb) -> Fixture {
    let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
    f.agent("node", &json!({"cpu": "10"})).await;
    f.ingest(&[kernel("k1", "ann", "ml", "2026-01-13T09:00:00Z")]).await;
    f.tick().await;
    f
}

async fn recorded_ahead(db: crate::support::database::TestDb, unit: u32) {
    let f = at_ten(db).await;
    f.options(&json!({"decay_unit_days": unit})).await;
    let future = json!({"status": "TERMINATED", "terminated_at": "2026-03-01T00:00:00Z"});
    let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T10:30:00Z"});
    f.ingest(&[
        with(kernel("ends-ahead", "bob", "ml", "2026-01-13T09:30:00Z"), &future),
        with(kernel("ended", "bob", "bio", "2026-01-13T09:45:00Z"), &ended),
        kernel("begins-ahead", "cem", "ml", "2026-02-01T00:00:00Z"),
    ])
    .await;
    // As a version did that believed its clock.
    f.clock.set("2027-01-13T10:00:00Z");
    f.tick().await;
    assert!(spans(&f, "k1").await.len() > 300 && days(&f).await.len() > 300);
    f.service.keep_division(GROUP).await.unwrap();

    f.clock.jump("2026-01-13T11:00:00Z");
    let f = f.restart().await;
    assert_held(&f).await;
    f.service.trust_clock(&admin(), None).await.unwrap();
    assert_released(&f).await;
    f.tick().await;
    assert_eq!(spans(&f, "k1").await.last().unwrap(), "10:00:00-11:00:00");
    assert_eq!(spans(&f, "ends-ahead").await, ["09:30:00-11:00:00"]);
    assert_eq!(spans(&f, "ended").await, ["09:45:00-10:30:00"]);
    assert!(spans(&f, "begins-ahead").await.is_empty());
    assert_eq!(days(&f).await, ["2026-01-13"]);
    f.assert_conserved().await;
    let total = async |f: &Fixture| f.service.audit_conservation(&admin(), GROUP).await.unwrap().totals[0].to_json();
    assert_eq!(total(&f).await, usages(&(2 * 3_600 + 5_400 + 2_700).to_string()));
    // Nothing is left to be removed, and jobs run again.
    assert_eq!(f.tick().await.slices_corrected, 0);
    f.clock.set("2026-03-02T00:00:00Z");
    f.service.heartbeat().await.unwrap();
    f.tick().await;
    f.assert_conserved().await;
    let seconds = |days: i64, rest: i64| days * 86_400 + rest;
    let (k1, ends_ahead, begins_ahead) = (seconds(47, 54_000), seconds(46, 52_200), seconds(29, 0));
    assert_eq!(total(&f).await, usages(&(k1 + ends_ahead + begins_ahead + 2_700).to_string()));
}

async fn capacity_of_today(f: &Fixture) -> String {
    let calendar = store::capacity::load(f.service.store().read(), GROUP).await.unwrap();
    let day = fairshared::domain::time::Day(20_466);
    calendar.get(day).unwrap().capacity.to_json()
}

/// A group that was observed from 10:00 on, by a clock that then was a year ahead, and was set back at 11:00 and trusted.
async fn set_back_at_eleven(db: crate::support::database::TestDb) -> Fixture {
    let f = at_ten(db).await;
    f.clock.set("2027-01-13T10:00:00Z");
    f.tick().await;
    f.clock.jump("2026-01-13T11:00:00Z");
    let f = f.restart().await;
    assert_held(&f).await;
    f.service.trust_clock(&admin(), None).await.unwrap();
    assert_released(&f).await;
    f
}

on_both! {
    async fn a_capacity_of_a_day_with_a_clock_set_back_counts_for_the_time_that_was_observed(db: TestDb) {
        let f = set_back_at_eleven(db).await;
        f.tick().await;
        f.clock.set("2026-01-13T13:00:00Z");
        f.tick().await;
        f.agent("node", &json!({"cpu": "20"})).await;
        f.clock.set("2026-01-13T16:00:00Z");
        f.tick().await;
        // 10 cores from 10:00 to 13:00, and 20 cores from then to 16:00; nothing was observed before 10:00.
        assert_eq!(capacity_of_today(&f).await, r#"{"cpu":"15"}"#);
        f.assert_conserved().await;
    }

    async fn a_capacity_that_changes_before_the_first_run_after_a_clock_was_set_back_counts_from_then_on(db: TestDb) {
        let f = set_back_at_eleven(db).await;
        f.agent("node", &json!({"cpu": "20"})).await;
        f.clock.set("2026-01-13T12:00:00Z");
        f.tick().await;
        assert_eq!(capacity_of_today(&f).await, r#"{"cpu":"15"}"#);
        assert_eq!(days(&f).await, ["2026-01-13"]);
        f.assert_conserved().await;
    }

    async fn a_downtime_of_a_day_with_a_clock_set_back_is_not_counted_as_observed(db: TestDb) {
        let f = at_ten(db).await;
        f.clock.set("2026-01-13T10:30:00Z");
        f.tick().await;
        f.clock.set("2026-01-13T14:00:00Z");
        let f = f.restart().await;
        f.clock.set("2026-01-13T15:00:00Z");
        f.tick().await;
        f.clock.set("2027-01-13T10:00:00Z");
        f.tick().await;
        f.clock.jump("2026-01-13T16:00:00Z");
        let f = f.restart().await;
        f.service.trust_clock(&admin(), None).await.unwrap();
        f.tick().await;
        let calendar = store::capacity::load(f.service.store().read(), GROUP).await.unwrap();
        // From 10:00 to 10:30 and from 14:00 to 16:00; in between nothing ran.
        assert_eq!(calendar.get(fairshared::domain::time::Day(20_466)).unwrap().observed_micros, 9_000_000_000);
    }

    async fn a_clock_that_jumps_ahead_writes_nothing(db: TestDb) {
        let f = at_ten(db).await;
        f.clock.jump("2027-01-13T10:00:00Z");
        assert_held(&f).await;
        let detail = f.service.health.reasons().remove(0).condition.detail;
        assert!(detail.contains("2027-01-13T10:00:00Z") && detail.contains("2026-01-13T10:00:00Z"), "{detail}");
        f.clock.advance_seconds(300);
        assert_eq!(f.service.clock().now(), time("2026-01-13T10:05:00Z"));
        // Reports, agents and options go by the time that has passed.
        f.agent("node", &json!({"cpu": "20"})).await;
        f.ingest(&[kernel("k2", "ann", "ml", "2026-01-13T10:04:00Z")]).await;
        f.options(&json!({"half_life_days": 3})).await;
        let calculated = f.service.group(&crate::support::fixture::admin(), GROUP).unwrap().calculation.clone().unwrap();
        assert_eq!(calculated.at, time("2026-01-13T10:05:00Z"));
        assert_held(&f).await;
        assert_eq!(starts(&f).await, ["2026-01-13T10:00:00Z - 2026-01-13T10:05:00Z"]);
        assert_eq!(days(&f).await, ["2026-01-13"]);

        f.clock.jump("2026-01-13T10:10:00Z");
        assert_released(&f).await;
        assert_eq!(f.tick().await.gaps, 0);
        assert_eq!(spans(&f, "k1").await, ["09:00:00-10:00:00", "10:00:00-10:10:00"]);
        assert_eq!(spans(&f, "k2").await, ["10:04:00-10:10:00"]);
        assert_eq!(starts(&f).await, ["2026-01-13T10:00:00Z - 2026-01-13T10:10:00Z"]);
        f.assert_conserved().await;
        assert_eq!(f.service.trust_clock(&admin(), None).await.unwrap().doubt, None);
    }

    async fn a_clock_that_jumps_back_holds_too(db: TestDb) {
        let f = at_ten(db).await;
        f.clock.jump("2025-06-01T00:00:00Z");
        assert_held(&f).await;
        f.clock.advance_seconds(600);
        assert_held(&f).await;
        assert_eq!(starts(&f).await, ["2026-01-13T10:00:00Z - 2026-01-13T10:10:00Z"]);
        f.clock.jump("2026-01-13T10:10:30Z");
        assert_released(&f).await;
        f.tick().await;
        assert_eq!(spans(&f, "k1").await, ["09:00:00-10:00:00", "10:00:00-10:10:30"]);
        f.assert_conserved().await;
    }

    async fn a_clock_that_is_set_by_less_than_an_hour_is_believed(db: TestDb) {
        let f = at_ten(db).await;
        for to in ["2026-01-13T10:59:00Z", "2026-01-13T10:01:00Z"] {
            f.clock.jump(to);
            assert_released(&f).await;
        }
    }

    async fn a_restart_keeps_the_hold(db: TestDb) {
        let f = at_ten(db).await;
        f.clock.jump("2026-01-13T12:00:00Z");
        assert_held(&f).await;
        // A new process would take two hours for a time without service.
        let f = f.restart().await;
        assert_held(&f).await;
        f.clock.advance_seconds(10 * 86_400);
        assert_held(&f).await;
        assert_eq!(starts(&f).await, ["2026-01-13T10:00:00Z - 2026-01-13T10:00:00Z"]);
        // The clock was set while nothing ran.
        f.clock.jump("2026-01-13T10:30:00Z");
        let f = f.restart().await;
        assert_released(&f).await;
        f.tick().await;
        assert_eq!(spans(&f, "k1").await, ["09:00:00-10:00:00", "10:00:00-10:30:00"]);
        assert_eq!(gaps(&f).await, ["2026-01-13T10:00:00Z - 2026-01-13T10:30:00Z"]);
        f.assert_conserved().await;
    }

    async fn a_long_time_without_service_is_believed_when_an_admin_says_so(db: TestDb) {
        let f = at_ten(db).await;
        f.clock.set("2026-01-20T09:00:00Z");
        let f = f.restart().await;
        assert_released(&f).await;
        f.clock.set("2026-01-28T10:00:00Z");
        let f = f.restart().await;
        assert_held(&f).await;
        f.clock.advance_seconds(600);
        // The command line is another process.
        let trusted = other(&f).await.trust_clock(&admin(), Some("it was off".to_owned())).await.unwrap();
        assert_eq!(trusted.trusted_at, time("2026-01-28T10:10:00Z"));
        assert!(trusted.doubt.is_some());
        assert_released(&f).await;
        f.tick().await;
        // It served before its clock was believed.
        assert_eq!(gaps(&f).await[0], "2026-01-20T09:00:00Z - 2026-01-28T10:00:00Z");
        let log = f.service.audit_log(&admin(), &fairshared::service::audit_log::AuditFilter::default(), &fairshared::service::input::page::PageWindow::forward(10, None)).await.unwrap();
        let entry = &log.rows[0].1;
        assert_eq!((entry.action.as_str(), entry.reason.as_deref()), ("clock.trust", Some("it was off")));
        f.assert_conserved().await;
    }

    async fn a_word_about_another_clock_changes_nothing(db: TestDb) {
        let f = at_ten(db).await;
        let second = other(&f).await;
        second.trust_clock(&admin(), None).await.unwrap();
        f.clock.jump("2027-01-13T10:00:00Z");
        assert_held(&f).await;
    }

    async fn what_was_recorded_ahead_is_taken_back(db: TestDb) {
        recorded_ahead(db, 1).await;
    }

    async fn what_was_recorded_ahead_is_taken_back_from_buckets_of_weeks(db: TestDb) {
        recorded_ahead(db, 7).await;
    }

    async fn a_gap_that_was_handled_ahead_is_handled_again(db: TestDb) {
        let f = at_ten(db).await;
        f.clock.set("2027-01-13T10:00:00Z");
        let f = f.restart().await;
        f.service.trust_clock(&admin(), None).await.unwrap();
        f.tick().await;
        assert_eq!(gaps(&f).await, ["2026-01-13T10:00:00Z - 2027-01-13T10:00:00Z"]);
        f.clock.jump("2026-01-13T11:00:00Z");
        assert_held(&f).await;
        f.service.trust_clock(&admin(), None).await.unwrap();
        f.tick().await;
        assert_eq!(spans(&f, "k1").await, ["09:00:00-10:00:00", "10:00:00-11:00:00"]);
        assert_eq!(gaps(&f).await, ["2026-01-13T10:00:00Z - 2026-01-13T11:00:00Z"]);
        f.assert_conserved().await;
    }
}
