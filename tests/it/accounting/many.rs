//! Runs that write more rows than one statement takes.

use std::ops::Range;

use fairshared::domain::capacity::CapacityCalendar;
use fairshared::domain::ids::Owner;
use fairshared::domain::ledger::Ledger;
use fairshared::domain::time::Day;
use fairshared::domain::usage_dimensions::UsageDimensions;
use fairshared::service::Clock;
use serde_json::{Value, json};

use super::{member, usages, user};
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, slots, with};
use crate::support::on_both;

/// Two full statements of `PostgreSQL` and several of `SQLite`, and a part of one.
const USERS: usize = 2_700;
/// Users whose first kernels come between the runs, so that the second run updates most rows and inserts some.
const LATER: usize = 100;

/// Users with a kernel that no run has recorded for [`DAYS`] days: more than one step records.
const PEOPLE: usize = 140;
const DAYS: usize = 364;
/// Kernels that bring more records in [`DAYS`] days than one step records.
const MANY: usize = 230;

/// Kernels that a run takes from memory, and records, at once.
const TOGETHER: usize = 5_000;

/// Rows of users are in the order of their ids. Those of the first half are equal, those of the other half are not.
fn cores(user: usize) -> u64 {
    if id(&name(user)).as_bytes()[0] < 0x80 { 1 } else { 1 + user as u64 % 3 }
}

pub fn name(user: usize) -> String {
    format!("u{user}")
}

/// Fails unless all three tiers add up to `cpu_seconds` CPU-seconds.
async fn assert_totals(f: &Fixture, cpu_seconds: usize) {
    let totals = f.service.audit_conservation(&admin(), GROUP).await.unwrap().totals;
    let used = usages(&cpu_seconds.to_string());
    assert_eq!(totals.map(|total| total.to_json()), [used.clone(), used.clone(), used]);
}

on_both! {
    async fn each_row_of_a_long_statement_is_stored_as_it_is(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let capacity = json!({"cpu": "10000"});
        f.agent("node", &capacity).await;
        let of_user = |user: usize, since: &str| {
            let held = json!({"occupied_slots": {"cpu": cores(user).to_string()}});
            with(kernel(&format!("k{user}"), &name(user), "ml", since), &held)
        };
        let of_users = |users: Range<usize>, since: &str| users.map(|user| of_user(user, since)).collect::<Vec<Value>>();
        f.ingest(&of_users(0..USERS, "2026-01-10T00:00:00Z")).await;
        // The first run makes rows, and the second one changes them.
        f.clock.set("2026-01-10T06:00:00Z");
        f.tick().await;
        f.ingest(&of_users(USERS..USERS + LATER, "2026-01-10T06:00:00Z")).await;
        f.clock.set("2026-01-10T12:00:00Z");
        f.tick().await;
        let f = f.restart().await;
        let mut ledger = Ledger::new(CapacityCalendar::default(), Day::MIN);
        fairshared::store::buckets::load(f.service.store().read(), GROUP, &mut ledger, None).await.unwrap();
        let (today, totals) = (f.clock.now().day(), f.day_totals().await);
        assert_eq!(totals.len(), USERS + LATER);
        for number in 0..USERS + LATER {
            let runs = if number < USERS { 2 } else { 1 };
            let (used, member) = (usages(&(cores(number) * runs * 21_600).to_string()), member(&name(number), "ml"));
            let bucket = ledger.bucket(&Owner::User(member), today).unwrap();
            assert_eq!((bucket.usage.to_json(), bucket.records), (used.clone(), runs));
            assert_eq!((bucket.end, &*bucket.capacity), (today, &slots(&capacity)));
            assert_eq!(totals[&(today, (member, UsageDimensions::of_domain("research".into())))].usage.to_json(), used);
            assert_eq!(user(&f, &name(number), "ml").share.history.total_decayed_usage.to_json(), used);
        }
        f.assert_conserved().await;
    }

    async fn what_many_new_kernels_used_for_long_is_recorded_in_steps(db: TestDb) {
        let f = Fixture::new(db, "2026-12-30T12:00:00Z").await;
        f.agent("node", &json!({"cpu": "10000"})).await;
        let of = |number: usize, since: &str| kernel(&format!("k{number}"), &name(number), "ml", since);
        let waits = |number: usize| {
            with(of(number, ""), &json!({"status": "PENDING", "started_at": null}))
        };
        // Kernels that a run has seen have keys before and after those of the new ones.
        f.ingest(&[of(PEOPLE, "2026-12-30T00:00:00Z")]).await;
        f.ingest(&(0..PEOPLE).map(waits).collect::<Vec<Value>>()).await;
        f.ingest(&[of(PEOPLE + 1, "2026-12-30T00:00:00Z")]).await;
        f.tick().await;
        f.ingest(&(0..PEOPLE).map(|number| of(number, "2026-01-01T00:00:00Z")).collect::<Vec<Value>>()).await;
        let f = f.restart().await;
        f.clock.set("2026-12-31T00:00:00Z");
        let revision = f.service.group(&admin(), GROUP).unwrap().revision.number();
        let done = f.tick().await;
        assert_eq!((done.kernels, done.slices_created), (PEOPLE as u64 + 2, (PEOPLE * DAYS + 2) as u64));
        assert_eq!(f.service.group(&admin(), GROUP).unwrap().revision.number(), revision + 2);
        assert_eq!(f.tick().await.slices_created, 0);
        // From here on all are recorded together.
        let f = f.restart().await;
        f.clock.set("2026-12-31T06:00:00Z");
        assert_eq!(f.tick().await.slices_created, PEOPLE as u64 + 2);
        assert_totals(&f, PEOPLE * DAYS * 86_400 + 2 * 86_400 + (PEOPLE + 2) * 21_600).await;
    }

    async fn many_records_of_few_people_are_made_in_steps(db: TestDb) {
        let f = Fixture::new(db, "2026-12-30T12:00:00Z").await;
        let of = |number: usize| kernel(&format!("k{number}"), &name(number % 7), "ml", "2026-01-01T00:00:00Z");
        f.ingest(&(0..MANY).map(of).collect::<Vec<Value>>()).await;
        f.clock.set("2026-12-31T00:00:00Z");
        let revision = f.service.group(&admin(), GROUP).unwrap().revision.number();
        let done = f.tick().await;
        assert_eq!((done.kernels, done.slices_created), (MANY as u64, (MANY * DAYS) as u64));
        assert_eq!(f.service.group(&admin(), GROUP).unwrap().revision.number(), revision + 2);
        assert_eq!(f.tick().await.kernels, MANY as u64);
        assert_totals(&f, MANY * DAYS * 86_400).await;
    }

    async fn kernels_that_end_are_known_however_many_come_at_once(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let of = |number: usize| kernel(&format!("k{number}"), &name(number % 7), "ml", "2026-01-10T00:00:00Z");
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-10T01:00:00Z"});
        f.ingest(&(0..USERS).map(of).collect::<Vec<Value>>()).await;
        f.clock.set("2026-01-10T02:00:00Z");
        // Half of them are new. One is reported twice, in the opposite order.
        let mut told: Vec<Value> = (0..2 * USERS).map(|number| with(of(number), &ended)).collect();
        told.extend([of(0), of(2 * USERS - 1)]);
        assert!(f.ingest(&told).await.is_empty());
        let done = f.tick().await;
        assert_eq!((done.kernels, done.slices_created), (2 * USERS as u64, 2 * USERS as u64));
        assert_totals(&f, 2 * USERS * 3_600).await;
        assert!(f.ingest(&told).await.is_empty());
        assert_eq!(f.tick().await.kernels, 0);
    }

    async fn the_last_kernels_that_are_recorded_together_are_not_forgotten(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let of = |number: usize| kernel(&format!("k{number}"), &name(number % 7), "ml", "2026-01-10T00:00:00Z");
        f.ingest(&(0..TOGETHER).map(of).collect::<Vec<Value>>()).await;
        let slices = async |f: &Fixture, now: &str| {
            f.clock.set(now);
            let done = f.tick().await;
            (done.kernels, done.slices_created)
        };
        let exactly = TOGETHER as u64;
        assert_eq!(slices(&f, "2026-01-10T06:00:00Z").await, (exactly, exactly));
        assert_eq!(slices(&f, "2026-01-10T07:00:00Z").await, (exactly, exactly));
        f.ingest(&[of(TOGETHER)]).await;
        assert_eq!(slices(&f, "2026-01-10T08:00:00Z").await, (exactly + 1, exactly + 1));
        // From here on they are read from the database first.
        let f = f.restart().await;
        assert_eq!(slices(&f, "2026-01-10T09:00:00Z").await, (exactly + 1, exactly + 1));
        assert_totals(&f, (TOGETHER + 1) * 9 * 3_600).await;
    }
}
