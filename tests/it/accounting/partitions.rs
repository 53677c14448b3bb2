//! On `PostgreSQL` the records of each day are in a partition of their own.

use std::sync::Arc;

use fairshared::domain::time::Day;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::json;

use crate::support::database;
use crate::support::fixture::{Fixture, GROUP, admin, kernel, with};
use crate::support::time;

const START: &str = "2026-01-10T00:00:00Z";

/// A group whose history reaches back two days, and a kernel that runs since [`START`].
async fn world() -> Fixture {
    let f = Fixture::new(database::postgres().await, START).await;
    f.options(&json!({"lookback_days": 1, "decay_unit_days": 1})).await;
    f.agent("node-1", &json!({"cpu": "10"})).await;
    f.ingest(&[with(kernel("k1", "ann", "ml", START), &json!({"occupied_slots": {"cpu": "5"}}))]).await;
    f
}

async fn after(f: &Fixture, now: &str) {
    f.clock.set(now);
    f.service.heartbeat().await.unwrap();
    f.tick().await;
}

pub(super) async fn texts(db: &impl ConnectionTrait, sql: &str) -> Vec<String> {
    let rows = db.query_all_raw(Statement::from_string(DbBackend::Postgres, sql.to_owned())).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}

/// The days that have a partition.
async fn days(f: &Fixture) -> Vec<String> {
    let names = "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
                 WHERE i.inhparent = 'usage_slices'::regclass AND c.relname <> 'usage_slices_other'";
    let names = texts(f.service.store().read(), names).await;
    let mut days: Vec<Day> =
        names.iter().map(|name| Day(name.strip_prefix("usage_slices_day_").unwrap().parse().unwrap())).collect();
    days.sort_unstable();
    days.iter().map(Day::to_string).collect()
}

/// The tables that have records, and the number in each.
async fn places(f: &Fixture) -> Vec<String> {
    let sql = "SELECT tableoid::regclass || ' ' || COUNT(*) FROM usage_slices GROUP BY tableoid ORDER BY 1";
    texts(f.service.store().read(), sql).await
}

fn name(day: &str) -> String {
    format!("usage_slices_day_{}", time(&format!("{day}T00:00:00Z")).day().0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_makes_them_ahead_and_a_purge_drops_those_that_nobody_looks_back_to() {
    let f = world().await;
    after(&f, "2026-01-11T00:10:00Z").await;
    let made = ["2026-01-10", "2026-01-11", "2026-01-12", "2026-01-13", "2026-01-14"];
    assert_eq!(days(&f).await, made);
    // The record that ends at midnight is of the day before.
    let lies = [format!("{} 1", name("2026-01-10")), format!("{} 1", name("2026-01-11"))];
    assert_eq!(places(&f).await, lies);
    // Days that have no records yet are not dropped: other processes count on them.
    f.service.purge(GROUP, 1_000).await.unwrap();
    assert_eq!(days(&f).await, made);
    after(&f, "2026-01-13T00:10:00Z").await;
    f.service.purge(GROUP, 1_000).await.unwrap();
    assert_eq!(days(&f).await, ["2026-01-11", "2026-01-12", "2026-01-13", "2026-01-14", "2026-01-15", "2026-01-16"]);
    assert_eq!(f.service.store().stray_records().await.unwrap(), 0);
    f.assert_conserved().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_that_another_group_needs_stay() {
    let f = world().await;
    f.group("other", &json!({"lookback_days": 1, "decay_unit_days": 1})).await;
    let started = with(kernel("k2", "bob", "ml", START), &json!({"occupied_slots": {"cpu": "1"}}));
    let refused = f.service.ingest(&admin(), "other", vec![crate::support::fixture::incoming(&started)]).await.unwrap();
    assert!(refused.is_empty());
    after(&f, "2026-01-10T00:10:00Z").await;
    f.service.aggregate("other").await.unwrap();
    after(&f, "2026-01-13T00:10:00Z").await;
    f.service.aggregate("other").await.unwrap();
    f.service.purge(GROUP, 1_000).await.unwrap();
    assert_eq!(days(&f).await[0], "2026-01-10");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_without_a_partition_are_told_of_and_get_it_with_the_next_run() {
    let f = world().await;
    after(&f, "2026-01-10T00:05:00Z").await;
    // Another program takes the partition of a day that this process takes for made.
    let taken = format!("DROP TABLE {}", name("2026-01-11"));
    execute(&f, &taken).await;
    after(&f, "2026-01-11T00:05:00Z").await;
    f.service.watch_partitions().await.unwrap();
    let told = || f.service.health.reasons().iter().map(|reason| reason.condition.code).collect::<Vec<_>>();
    assert_eq!(told(), ["records_without_partition"]);
    assert_eq!(f.service.store().known_strays(), 1);
    // A process that has seen nothing yet makes what is missing.
    let f = f.restart().await;
    after(&f, "2026-01-11T00:10:00Z").await;
    f.service.watch_partitions().await.unwrap();
    assert!(f.service.health.reasons().is_empty());
    assert_eq!(places(&f).await[1], format!("{} 2", name("2026-01-11")));
    f.assert_conserved().await;
}

#[expect(clippy::disallowed_methods, reason = "what another program does")]
async fn execute(f: &Fixture, sql: &str) {
    f.service.store().write().execute_unprepared(sql).await.unwrap();
}

/// All tasks take locks in one order, so that no two of them wait for each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_is_dropped_beside_a_run_that_reads_all_days_after_it_has_written() {
    let f = world().await;
    after(&f, "2026-01-10T00:10:00Z").await;
    after(&f, "2026-01-13T00:10:00Z").await;
    assert_eq!(days(&f).await[0], "2026-01-10");
    let run = f.service.store().begin().await.unwrap();
    let write = format!(
        "UPDATE usage_slices SET slices = slices WHERE period_end > {} RETURNING 'written'",
        time("2026-01-13T00:00:00Z").micros()
    );
    assert_eq!(texts(&run, &write).await, ["written"]);
    let service = Arc::clone(&f.service);
    let purge = tokio::spawn(async move { service.purge(GROUP, 1_000).await.unwrap() });
    f.db.until_a_writer_waits().await;
    assert_eq!(texts(&run, "SELECT 'read' FROM usage_slices LIMIT 1").await, ["read"]);
    run.commit().await.unwrap();
    purge.await.unwrap();
    assert_eq!(days(&f).await[0], "2026-01-11");
}
