//! A key with too many requests is refused, and others are answered as before.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header;
use fairshared::server::{self, KeyQuotas, ServerApp};
use fairshared::service::Role;
use fairshared::service::access::ClientId;
use fairshared::service::access::client_semaphores::ClientSemaphores;
use serde_json::json;
use tower::ServiceExt;

use super::support::{Server, app, group, request};
use crate::support::on_both;

/// A server with these quotas.
async fn limited(db: crate::support::database::TestDb, key_quotas: KeyQuotas) -> Server {
    let server = Server::with_usage(db).await;
    let router = server::router(ServerApp { key_quotas, ..app(&server.fixture) });
    Server { router, ..server }
}

on_both! {
    async fn a_viewer_who_asks_in_a_loop_is_told_to_ask_later_and_an_admin_is_not(db: TestDb) {
        let quotas = KeyQuotas { requests_per_second: NonZeroU32::new(3), ..KeyQuotas::default() };
        let server = limited(db, quotas).await;
        let (viewer, other) = (server.key_for(Role::Viewer, None).await, server.key_for(Role::Viewer, None).await);
        let mut refused = None;
        for _ in 0..1_000 {
            let answer = server.call_as(&viewer, "GET", "/whoami", None).await;
            if answer.status != 200 {
                refused = Some(answer);
                break;
            }
        }
        let refused = refused.expect("a thousand requests in a loop are never refused");
        refused.refused(429, "too_many_requests");
        assert_eq!(refused.header("retry-after"), "1");
        server.call_as(&other, "GET", "/whoami", None).await.json(200);
        for _ in 0..20 {
            server.get("/whoami").await;
        }
    }

    async fn a_key_has_so_many_requests_at_once_and_sequences_do_not_count(db: TestDb) {
        let server = limited(db, KeyQuotas { requests_at_once: 2, ..KeyQuotas::default() }).await;
        // Requests whose bodies do not end.
        let hold = || {
            let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
            let held = request(&server.key, "POST", "/division/simulate").header(header::CONTENT_TYPE, "application/json");
            Box::pin(server.router.clone().oneshot(held.body(body).unwrap()))
        };
        let (mut first, mut second) = (hold(), hold());
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        server.call("GET", "/whoami", None).await.refused(429, "too_many_requests");
        let other = server.key_for(Role::Admin, None).await;
        server.call_as(&other, "GET", "/whoami", None).await.json(200);
        let workloads = json!({"workloads": []});
        server.call("POST", &group("/sequence"), Some(&workloads)).await.json(200);
        drop(first);
        server.get("/whoami").await;
    }

    async fn bodies_in_flight_share_one_budget_of_memory(db: TestDb) {
        let server = Server::new(db).await;
        server.service.set_memory(100_000);
        let memory = server.service.memory().clone();
        let held = |bytes: usize| {
            let piece = futures::stream::once(async move { Ok::<_, std::io::Error>(Bytes::from(vec![b' '; bytes])) });
            let body = Body::from_stream(futures::StreamExt::chain(piece, futures::stream::pending()));
            let begun = request(&server.key, "POST", "/division/simulate").header(header::CONTENT_TYPE, "application/json");
            Box::pin(server.router.clone().oneshot(begun.body(body).unwrap()))
        };
        let mut first = held(60_000);
        assert!(futures::poll!(&mut first).is_pending());
        assert_eq!(memory.count_left(), 40_000);
        let spaces = " ".repeat(50_000);
        let second = server.raw("POST", "/division/simulate", "application/json", spaces.clone()).await;
        second.refused(503, "bodies_too_large");
        assert_eq!(second.header("retry-after"), "1");
        // GraphQL and every other body count alike.
        server.raw("POST", "/graphql", "application/json", spaces.clone()).await.refused(503, "bodies_too_large");
        drop(first);
        assert_eq!(memory.count_left(), 100_000);
        server.raw("POST", "/graphql", "application/json", spaces).await.json(400);
        assert_eq!(memory.count_left(), 100_000);
    }

    async fn a_simulation_is_measured_before_it_is_computed(db: TestDb) {
        let server = Server::new(db).await;
        server.service.set_memory(100_000);
        let queues: Vec<_> = (0..100).map(|n| json!({"name": format!("q{n}"), "request": {"cpu": 5}})).collect();
        let body = json!({"algorithm": "drf", "capacity": {"cpu": 8}, "queues": queues});
        server.call("POST", "/division/simulate", Some(&body)).await.refused(413, "too_large");
        let small = json!({"algorithm": "drf", "capacity": {"cpu": 8}, "queues": [{"name": "a", "request": {"cpu": 5}}]});
        server.call("POST", "/division/simulate", Some(&small)).await.json(200);
        assert_eq!(server.service.memory().count_left(), 100_000);
    }

    async fn the_least_roles_send_sixteen_mebibytes_at_most(db: TestDb) {
        let server = Server::new(db).await;
        for role in [Role::User, Role::Viewer] {
            let key = server.key_for(role, (role == Role::User).then_some("alice")).await;
            let large = request(&key, "POST", "/division/simulate").header(header::CONTENT_TYPE, "application/json");
            let large = large.body(Body::from(vec![b' '; (16 << 20) + 1])).unwrap();
            server.send(large).await.refused(413, "too_large");
        }
        let admin = request(&server.key, "POST", "/division/simulate").header(header::CONTENT_TYPE, "application/json");
        let admin = admin.body(Body::from(vec![b' '; (16 << 20) + 1])).unwrap();
        server.send(admin).await.refused(400, "malformed_json");
    }
}

#[tokio::test]
async fn semaphores_of_clients_that_are_not_in_use_are_dropped() {
    let client = |n| ClientId::Key(uuid::Uuid::from_u128(n));
    let semaphores = ClientSemaphores::new(1);
    let keep = semaphores.semaphore_of(client(1));
    let dropped = Arc::downgrade(&semaphores.semaphore_of(client(2)));
    let _other = semaphores.semaphore_of(client(3));
    assert!(dropped.upgrade().is_none());
    assert!(Arc::ptr_eq(&keep, &semaphores.semaphore_of(client(1))));
}
