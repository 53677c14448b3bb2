//! A key with too many requests is refused, and others are answered as before.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use fairshared::server::{self, KeyQuotas, ServerApp};
use fairshared::service::Role;
use fairshared::service::access::ClientId;
use fairshared::service::access::client_semaphores::ClientSemaphores;
use serde_json::json;
use tower::ServiceExt;

use super::support::{Server, app, group, request};
use crate::support::fixture::{GROUP, id, kernel};
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
        let viewer = server.key_for(Role::Viewer, None).await;
        for (key, size, status) in [(&viewer, 1 << 20, 400), (&viewer, (1 << 20) + 1, 413), (&server.key, 15 << 20, 400)] {
            let query = request(key, "POST", "/graphql").header(header::CONTENT_TYPE, "application/json");
            let answer = server.send(query.body(Body::from(vec![b' '; size])).unwrap()).await;
            answer.refused(status, if status == 413 { "too_large" } else { "malformed_json" });
        }
    }

    async fn the_least_roles_leave_half_of_the_memory_to_others(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.service.set_memory(100_000);
        let viewer = server.key_for(Role::Viewer, None).await;
        let piece = futures::stream::once(async { Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 45_000])) });
        let body = Body::from_stream(futures::StreamExt::chain(piece, futures::stream::pending()));
        let begun = request(&viewer, "POST", "/division/simulate").header(header::CONTENT_TYPE, "application/json");
        let mut held = Box::pin(server.router.clone().oneshot(begun.body(body).unwrap()));
        assert!(futures::poll!(&mut held).is_pending());
        let other = server.key_for(Role::User, Some("alice")).await;
        let refused = request(&other, "POST", "/division/simulate").header(header::CONTENT_TYPE, "application/json");
        let refused = server.send(refused.body(Body::from(vec![b' '; 10_000])).unwrap()).await;
        refused.refused(503, "bodies_too_large");
        let spaces = " ".repeat(50_000);
        let order = server.raw("POST", &group("/sequence"), "application/json", format!("{spaces}{{\"workloads\": []}}")).await;
        order.json(200);
        drop(held);
        assert_eq!(server.service.memory().count_left(), 100_000);
    }

    async fn answers_that_are_not_read_have_a_budget_and_a_share_for_each_key(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.service.set_memory(1_200_000);
        let row = |n| kernel(&format!("c{n}"), &format!("u{n}"), "vision", "2026-01-13T00:00:00Z");
        assert!(server.ingest(&(0..1_500).map(row).collect::<Vec<_>>()).await.is_empty());
        server.clock.advance_seconds(300);
        server.tick().await;
        let ask = async |key: &str, path: &str| {
            let asked = request(key, "GET", &group(path)).body(Body::empty()).unwrap();
            server.router.clone().oneshot(asked).await.unwrap()
        };
        let page = |users: usize| format!("/fair-share-status?limit={users}");
        let row_bytes = server.call("GET", &group(&page(100)), None).await.bytes.len() / 100;
        // A key has a quarter of the memory, which is room for one page and a half.
        let users = 200_000 / row_bytes;
        let first = ask(&server.key, &page(users)).await;
        assert_eq!(first.status(), StatusCode::OK);
        let refused = server.call("GET", &group(&page(users - 1)), None).await;
        refused.refused(503, "answers_too_large");
        assert_eq!(refused.header("retry-after"), "1");
        let fields = "user_uuid project_id fair_share_factor effective_usage weight";
        let query = format!("{{ user_fair_shares(resource_group: {GROUP:?}, first: 900) {{ edges {{ node {{ {fields} }} }} }} }}");
        server.call("POST", "/graphql", Some(&json!({ "query": query }))).await.refused(503, "answers_too_large");
        // Urgent requests and small answers go on.
        let workload = |n| json!({"workload_id": format!("w{n}"), "user_uuid": id("alice"), "project_id": id("vision")});
        let workloads = json!({"workloads": (0..1_000).map(workload).collect::<Vec<_>>()});
        let ordered = server.call("POST", &group("/sequence"), Some(&workloads)).await;
        ordered.json(200);
        assert!(ordered.bytes.len() > 64 << 10);
        server.get("/whoami").await;
        // Other keys go on as well, until all of the memory is taken.
        let mut held = vec![first];
        let late = loop {
            let other = server.key_for(Role::Viewer, None).await;
            let answer = ask(&other, &page(users)).await;
            if answer.status() != StatusCode::OK {
                break other;
            }
            held.push(answer);
        };
        assert!((4..=6).contains(&held.len()), "{}", held.len());
        drop(held);
        server.call_as(&late, "GET", &group(&page(users)), None).await.json(200);
        // A text that the server shares counts once.
        let (whole, again) = (ask(&server.key, "/fair-share-status").await, ask(&server.key, "/fair-share-status").await);
        assert_eq!((whole.status(), again.status()), (StatusCode::OK, StatusCode::OK));
        drop(whole);
        server.call("GET", &group(&page(users)), None).await.refused(503, "answers_too_large");
        drop(again);
        server.get(&group(&page(users))).await;
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
