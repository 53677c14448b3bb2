//! A real process whose clock disagrees with the stored times.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairshared::domain::time::{MICROS_PER_DAY, Timestamp};
use fairshared::service::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::cli::program::{Server, run};
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, kernel};
use crate::support::on_both;

async fn reasons(server: &Server) -> Value {
    let answer = reqwest::get(format!("{}/readyz", server.address)).await.unwrap();
    assert!(answer.status().is_success());
    answer.json::<Value>().await.unwrap()["reasons"].clone()
}

/// A server over a database whose last heartbeat is `days` days away from now, and its behaviour until the command line
/// trusts its clock.
async fn trusted_by_command(db: TestDb, days: i64) -> (Fixture, Server, reqwest::Client, String) {
    let now = SystemClock.now();
    let then = now.plus_micros(days * MICROS_PER_DAY);
    let f = Fixture::new(db, &then.to_string()).await;
    let before = now.plus_micros(days.min(0) * MICROS_PER_DAY - 3_600_000_000).to_string();
    f.ingest(&[kernel("k1", "ann", "ml", &before)]).await;
    f.tick().await;
    let key = run(&f.db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
    let (server, client) = (Server::over(&f.db.url), reqwest::Client::new());
    let aggregate = || client.post(format!("{}/jobs/aggregate/run", server.address)).bearer_auth(&key).send();
    let held = reasons(&server).await;
    assert_eq!(held[0]["code"], "clock_untrusted", "{held}");
    assert!(held[0]["detail"].as_str().unwrap().contains(&then.to_string()[..10]), "{held}");
    let refused = aggregate().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "clock_untrusted");
    // A ranking is read as before.
    let ranking = format!("{}/resource-groups/{GROUP}/fair-share-status", server.address);
    assert!(client.get(ranking).bearer_auth(&key).send().await.unwrap().status().is_success());

    let told = run(&f.db, ["jobs", "trust-clock", "--reason", "test"]).ok();
    assert!(told.starts_with("the clock is trusted: "), "{told}");
    let deadline = Instant::now() + Duration::from_secs(30);
    while reasons(&server).await != json!([]) {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let done: Value = aggregate().await.unwrap().json().await.unwrap();
    assert_eq!(done["items"][0]["status"], "succeeded", "{done}");
    (f, server, client, key)
}

async fn records(f: &Fixture) -> Vec<(Timestamp, Timestamp)> {
    f.records("k1").await.iter().map(|record| (record.span().start, record.span().end)).collect()
}

on_both! {
    async fn trusted_after_a_month_without_service(db: TestDb) {
        let (f, server, client, key) = trusted_by_command(db, -30).await;
        let url = format!("{}/resource-groups/{GROUP}/usage-gaps", server.address);
        let gaps: Value = client.get(url).bearer_auth(&key).send().await.unwrap().json().await.unwrap();
        assert_eq!(gaps["total"], 1, "{gaps}");
        assert!((30 * 86_400..30 * 86_400 + 600).contains(&gaps["items"][0]["duration_seconds"].as_i64().unwrap()), "{gaps}");
        f.assert_conserved().await;
    }

    async fn what_was_recorded_a_year_ahead_is_taken_back(db: TestDb) {
        let (f, _server, ..) = trusted_by_command(db, 365).await;
        let spans = records(&f).await;
        assert!(spans.last().unwrap().1 <= SystemClock.now(), "{spans:?}");
        assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "{spans:?}");
        let reread = fairshared::service::Service::new(f.db.store().await, Arc::new(SystemClock)).await.unwrap();
        let found = reread.audit_conservation(&crate::support::fixture::admin(), GROUP).await.unwrap();
        assert_eq!(found.difference, None);
    }
}
