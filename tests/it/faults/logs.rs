//! The log of faults: its reader finds the cause without other sources.

use reqwest::Method;
use sea_orm::ConnectionTrait;
use serde_json::json;
use tempfile::TempDir;

use super::support::{Log, Reporter, sqlite_url, start};
use crate::support::database::sqlite;
use crate::support::fixture::Fixture;
use crate::support::postgres::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cause_of_a_job_that_fails() {
    let folder = TempDir::new().unwrap();
    let mut reporter = Reporter::new(sqlite_url(&folder.path().join("fairshared.db")));
    let server = start(&reporter.url, &reporter.log);
    reporter.make_group(&server).await;
    reporter.report_some(&server, 1).await;
    let store = fairshared::store::Store::connect(&reporter.url).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "damage that no use-case can do")]
    let damaged = store.write().execute_unprepared("ALTER TABLE day_totals RENAME TO taken_away").await;
    damaged.unwrap();
    store.close().await.unwrap();
    let answer = reporter.call(&server, Method::POST, "/jobs/aggregate/run", &json!({})).await;
    assert_eq!(answer.body["items"][0]["status"], "failed", "{answer:?}");
    reporter.log.until_says(&["job failed", "aggregate", "gpu-cluster", "no such table: day_totals"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_doubted() {
    // The last sign of life lies years behind the clock of this machine, or ahead of it.
    let (f, log) = (Fixture::new(sqlite().await, "2023-01-13T10:00:00Z").await, Log::new());
    f.service.heartbeat().await.unwrap();
    let server = start(&f.db.url, &log);
    log.until_says(&["the service is degraded", "clock_untrusted", "make it 2023-01-13T10:0"]).await;
    server.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_told_once() {
    let cluster = Cluster::new("told", &[]);
    let mut reporter = Reporter::new(cluster.url("postgres"));
    let server = start(&reporter.url, &reporter.log);
    reporter.make_group(&server).await;
    reporter.report_some(&server, 1).await;
    cluster.stop();
    reporter.log.until_says(&["the service is degraded", "database_unreachable"]).await;
    for n in 0..20 {
        assert_eq!(reporter.report(&server, &format!("away-{n}")).await.status, 503);
    }
    assert_eq!(reporter.log.lines_with("database unavailable"), 0);
}
