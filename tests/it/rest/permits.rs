//! Requests with long computations wait for a permit; no other request does.

use std::future::Future;
use std::pin::pin;

use fairshared::service::access::ClientId;
use fairshared::service::compute_permits::ComputePermits;
use futures::poll;
use serde_json::json;
use uuid::Uuid;

use super::support::{Server, group};
use crate::support::fixture::{GROUP, admin, id, kernel};
use crate::support::on_both;

fn client(number: u128) -> ClientId {
    ClientId::Key(Uuid::from_u128(number))
}

/// Polls once, so that the future proceeds as far as it can.
async fn waits(future: std::pin::Pin<&mut impl Future>) -> bool {
    poll!(future).is_pending()
}

#[tokio::test]
async fn the_first_who_waits_is_the_first_who_computes_and_a_request_that_is_given_up_holds_up_no_other() {
    let permits = ComputePermits::new(1);
    let first = permits.acquire(client(1)).await.unwrap();
    let (mut second, mut third) = (Box::pin(permits.acquire(client(2))), pin!(permits.acquire(client(3))));
    assert!(waits(second.as_mut()).await && waits(third.as_mut()).await);
    assert_eq!(permits.count_free(), 0);
    let mut fourth = pin!(permits.acquire(client(4)));
    assert!(waits(fourth.as_mut()).await);
    drop(second);
    drop(first);
    let third = third.await.unwrap();
    assert!(waits(fourth.as_mut()).await);
    drop(third);
    drop(fourth.await.unwrap());
    assert_eq!(permits.count_free(), 1);
}

#[tokio::test]
async fn a_key_with_many_requests_takes_half_of_the_permits_and_one_place_in_the_line() {
    let permits = ComputePermits::new(2);
    let busy = permits.acquire(client(1)).await.unwrap();
    let mut more: Vec<_> = (0..20).map(|_| Box::pin(permits.acquire(client(1)))).collect();
    for waiting in &mut more {
        assert!(waits(waiting.as_mut()).await);
    }
    // The other half is free for another key at once.
    let other = permits.acquire(client(2)).await.unwrap();
    // With all permits taken, a third key waits for one computation and not for the twenty before it.
    let mut third = pin!(permits.acquire(client(3)));
    assert!(waits(third.as_mut()).await);
    drop(busy);
    drop(third.await.unwrap());
    drop(other);
}

#[tokio::test]
async fn work_on_few_rows_needs_no_permit() {
    let permits = ComputePermits::new(1);
    let _busy = permits.acquire(client(1)).await.unwrap();
    assert_eq!(permits.scan(client(2), 100, || Ok(7)).await.unwrap(), 7);
    assert!(waits(pin!(permits.scan(client(2), 100_000, || Ok(7)))).await);
}

on_both! {
    async fn light_work_goes_on_while_all_permits_are_taken(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.get(&group("/division")).await;
        let permits = &server.service.permits;
        let mut busy = Vec::new();
        for number in 0..permits.count_free() {
            busy.push(permits.acquire(client(u128::try_from(number).unwrap())).await.unwrap());
        }
        assert_eq!(permits.count_free(), 0);
        let body = json!({"algorithm": "drf", "capacity": {"cpu": 8}, "queues": [{"name": "a", "request": {"cpu": 5}}]});
        let mut simulated = pin!(server.call("POST", "/division/simulate", Some(&body)));
        assert!(waits(simulated.as_mut()).await);
        // Reads, the division that was made already, sequences, ingest, weights and runs.
        server.get(&group("/fair-share-status")).await;
        server.get(&group("/division")).await;
        let workload = json!({"workload_id": "w", "user_uuid": id("alice"), "project_id": id("vision")});
        server.call("POST", &group("/sequence"), Some(&json!({"workloads": [workload]}))).await.json(200);
        assert!(server.ingest(&[kernel("k9", "dan", "vision", "2026-01-13T11:00:00Z")]).await.is_empty());
        let weight = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "3"}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weight)).await.json(200);
        server.clock.advance_seconds(300);
        server.tick().await;
        // A new snapshot is divided for the sequence alone, which does not wait either.
        server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler": "score"}))).await.json(200);
        server.call("POST", &group("/sequence"), Some(&json!({"workloads": [workload]}))).await.json(200);
        assert!(waits(simulated.as_mut()).await);
        let caller = admin();
        let mut divided = pin!(server.service.division(&caller, GROUP, true));
        assert!(waits(divided.as_mut()).await);
        drop(busy);
        assert_eq!(simulated.await.json(200)["queues"][0]["fair_share"], json!({"cpu": "5"}));
        assert!(divided.await.is_ok());
    }
}
