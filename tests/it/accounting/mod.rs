//! Slices, buckets, factors and ranks through the service, on real databases.

mod buckets;
mod capacity;
mod clock;
mod compaction;
mod cursors;
mod day_totals;
mod gaps;
mod history;
mod inferred;
mod joint;
mod kernel_index;
mod leases;
mod many;
mod model;
mod pages;
mod partitions;
mod purged;
mod reading;
mod reports;
mod retention;
mod share_rows;
mod shown;
mod suspension;
mod together;
mod unread;
mod weights;

pub use buckets::plant;

use fairshared::domain::bucket::Bucket;
use fairshared::domain::capacity::CapacityCalendar;
use fairshared::domain::ids::{Member, Owner, ProjectId, UserId};
use fairshared::domain::ledger::Ledger;
use fairshared::domain::ranking::PlacedRow;
use fairshared::domain::time::Day;
use fairshared::engine::group::snapshots::rows::UserShare;
use fairshared::store::Store;
use serde_json::json;

use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

fn member(user: &str, project: &str) -> Member {
    Member { user: UserId(id(user)), project: ProjectId(id(project)) }
}

/// The number that a statement returns.
pub async fn number(store: &Store, sql: &str) -> i64 {
    use sea_orm::{ConnectionTrait, Statement};
    let asked = Statement::from_string(store.read().get_database_backend(), sql.to_owned());
    store.read().query_one_raw(asked).await.unwrap().unwrap().try_get_by_index(0).unwrap()
}

/// The published row of a member.
fn user(f: &Fixture, user: &str, project: &str) -> PlacedRow<UserShare> {
    f.service.group(&admin(), GROUP).unwrap().user(member(user, project)).unwrap().unwrap()
}

/// The recorded slices of a kernel as `start-end`, without the date.
async fn spans(f: &Fixture, kernel: &str) -> Vec<String> {
    let records = f.records(kernel).await;
    let time = |t: fairshared::domain::time::Timestamp| t.to_string()[11..19].to_owned();
    records.iter().map(|r| format!("{}-{}", time(r.span().start), time(r.span().end))).collect()
}

fn usages(cpu_seconds: &str) -> String {
    json!({"cpu": cpu_seconds}).to_string()
}

/// The stored buckets of a member.
async fn chain(f: &Fixture, user: &str, project: &str) -> Vec<Bucket> {
    let mut ledger = Ledger::new(CapacityCalendar::default(), Day::MIN);
    fairshared::store::buckets::load(f.service.store().read(), GROUP, &mut ledger, None).await.unwrap();
    ledger.buckets(&Owner::User(member(user, project))).to_vec()
}

/// The stored buckets of a member as `start..end cpu-seconds`.
async fn buckets(f: &Fixture, user: &str, project: &str) -> Vec<String> {
    let cpu = fairshared::domain::slots::SlotName::new("cpu").unwrap();
    let text = |b: &Bucket| format!("{}..{} {}", b.start, b.end, b.usage.get(cpu).unwrap_or_default());
    chain(f, user, project).await.iter().map(text).collect()
}

/// The stored buckets of a member as `start capacity`.
async fn capacities(f: &Fixture, user: &str, project: &str) -> Vec<String> {
    chain(f, user, project).await.iter().map(|b| format!("{} {}", b.start, b.capacity.to_json())).collect()
}

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
        let group = f.service.group(&admin(), GROUP).unwrap();
        let [alice] = &group.memberships(UserId(id("alice"))).unwrap()[..] else { panic!("one project") };
        // 5 CPU x 1380 s over 10 CPU x 86400 s, in a window of 28 days.
        let expected: f64 = 5.0 * 1380.0 / (10.0 * 86_400.0) / 28.0;
        assert!((alice.share.history.normalized_usage - expected).abs() < 1e-15);
    }
}
