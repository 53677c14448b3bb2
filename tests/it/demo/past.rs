//! The history of the demo: a downtime that kernels spanned, a day with ranks, and unequal domains.

use std::sync::Arc;

use fairshared::cli::demo::cluster::generate;
use fairshared::cli::demo::fill::fill;
use fairshared::domain::time::MICROS_PER_SECOND;
use fairshared::service::{Clock, Role, Service};

use crate::rest::support::{Server, create_key, group};
use crate::support::ManualClock;
use crate::support::database::sqlite;
use crate::support::fixture::Fixture;

/// The demo as it is served at `now`.
async fn demo(now: &str) -> Server {
    let (db, clock) = (sqlite().await, Arc::new(ManualClock::at(now)));
    let cluster = generate(clock.now().micros().div_euclid(MICROS_PER_SECOND), 1, 30);
    fill(&db.store().await, clock.now(), &cluster, 1).await.unwrap();
    let service = Service::new(db.store().await, Arc::clone(&clock) as _).await.unwrap();
    service.start_serving().await.unwrap();
    let fixture = Fixture { db, clock, service };
    fixture.assert_conserved().await;
    let key = create_key(&fixture, Role::Admin, None).await;
    Server::over(fixture, key)
}

const HALF_A_PERCENT: f64 = 0.005;

/// The share of the cluster that went to the wrong domain in the window.
async fn misallocated(server: &Server, window: &str) -> f64 {
    let fairness = server.get(&group(&format!("/fairness?window={window}&tier=domain"))).await;
    fairness["misallocated_share"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn there_is_one_gap_and_a_yesterday_at_any_hour() {
    for now in ["2026-02-18T10:30:00Z", "2026-02-18T00:00:01Z", "2026-02-18T23:59:59Z"] {
        let server = demo(now).await;
        let gaps = server.get(&group("/usage-gaps")).await;
        assert_eq!(gaps["total"], 1, "{now}: {gaps}");
        let gap = &gaps["items"][0];
        assert_eq!(
            (&gap["started_at"], &gap["ended_at"]),
            (&"2026-02-17T20:00:00Z".into(), &"2026-02-17T22:20:00Z".into())
        );
        assert!(gap["kernels"].as_u64().unwrap() > 0 && gap["recorded_usage"]["cpu"].is_string(), "{now}: {gap}");
        let yesterday = server.get(&group("/fair-share-history?tier=domain&from=2026-02-17&to=2026-02-17")).await;
        assert_eq!(yesterday["items"].as_array().unwrap().len(), 4, "{now}: {yesterday}");
        // The README says so of every demo.
        assert!(misallocated(&server, "28d").await < HALF_A_PERCENT, "{now}");
    }
}

#[tokio::test]
async fn weeks_were_fair_and_a_weight_was_set_just_now() {
    let now = "2026-02-18T10:30:00Z";
    let server = demo(now).await;
    for (window, most) in [("7d", 0.05), ("28d", HALF_A_PERCENT)] {
        let share = misallocated(&server, window).await;
        assert!(share < most, "{window}: {share}");
    }
    let days = server.get(&group("/fairness/history?tier=domain&from=2026-02-01&to=2026-02-16")).await;
    assert_eq!(days["items"].as_array().unwrap().len(), 16, "{days}");
    let log = server.get("/audit-log?action=weights.put").await;
    let times: Vec<&str> = log["items"].as_array().unwrap().iter().map(|entry| entry["at"].as_str().unwrap()).collect();
    assert_eq!(times, [now, "2026-02-17T20:00:00Z"]);
}
