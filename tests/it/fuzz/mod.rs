//! Odd requests, generated from the documents of both interfaces: none of them may break the server. `FUZZ_SEED` and
//! `FUZZ_REQUESTS` choose other requests and their number.

mod graphql;
mod rest;
mod values;

use axum::body::Body;
use axum::http::{Request, header};
use fairshared::service::Role;
use serde_json::{Value, json};

use crate::rest::support::{Server, create_key};
use crate::support::dice::Dice;
use crate::support::fixture::{Fixture, GROUP, kernel, with};
use crate::support::on_both;
use rest::Asked;

/// Requests on each database, of which every third is GraphQL.
const REQUESTS: u64 = 6_000;
const SEED: u64 = 20_260_113;
/// Requests after which deleted rows are created again.
const EPOCH: u64 = 250;

fn chosen(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{variable}: {e}")))
}

/// A cluster with rows that requests find.
async fn furnish(fixture: &Fixture) {
    fixture.group(GROUP, &json!({})).await;
    fixture.agent("node-01", &json!({"cpu": "100", "mem": "1000"})).await;
    let job = |name: &str, user: &str, project: &str| {
        with(kernel(name, user, project, "2026-01-13T09:00:00Z"), &json!({"user_name": user, "project_name": project}))
    };
    fixture.ingest(&[job("k1", "alice", "vision"), job("k2", "bob", "vision"), job("k3", "carol", "audio")]).await;
    fixture.tick().await;
}

/// A GraphQL request as it is sent.
fn graphql_request(schema: &graphql::Schema, keys: &[String], dice: &mut Dice) -> Asked {
    let body = graphql::body(schema, dice);
    let key = if dice.one_in(10) { dice.item(keys) } else { &keys[0] };
    let kind = if dice.one_in(30) { "text/plain" } else { "application/json" };
    let told = format!("POST /graphql {}", String::from_utf8_lossy(&body).chars().take(3_000).collect::<String>());
    let request = Request::post("/graphql").header(header::CONTENT_TYPE, kind);
    let request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
    Asked { told, request: request.body(Body::from(body)).unwrap() }
}

/// Codes of failures of the server.
const FAULTS: [&str; 5] = ["", "internal", "unavailable", "database_unreachable", "storage_full"];

/// Fails on an invalid answer of GraphQL: an error without a code, or a failure of the server.
fn judge_graphql(told: &str, answer: &Value) {
    for error in answer["errors"].as_array().into_iter().flatten() {
        let code = error["extensions"]["code"].as_str().unwrap_or_default();
        assert!(!FAULTS.contains(&code), "{told}\n{error}");
    }
    assert!(answer.get("data").is_some() || answer.get("errors").is_some(), "{told}\n{answer}");
    assert!(answer["errors"].as_array().is_none_or(|errors| errors.len() <= 101), "{told}");
}

async fn send(server: &Server, Asked { told, request }: Asked) {
    let is_graphql = request.uri().path() == "/graphql";
    let answer = server.send(request).await;
    assert!(!answer.status.is_server_error(), "{told}\n{}", String::from_utf8_lossy(&answer.bytes));
    if is_graphql && answer.status == 200 && !answer.bytes.is_empty() {
        judge_graphql(&told, &answer.json(200));
    }
}

on_both! {
    async fn no_request_breaks_the_server(db: TestDb) {
        let (seed, requests) = (chosen("FUZZ_SEED", SEED), chosen("FUZZ_REQUESTS", REQUESTS));
        println!("FUZZ_SEED={seed} FUZZ_REQUESTS={requests}");
        let server = Server::with_usage(db).await;
        let mut keys = vec![server.key.clone()];
        for (role, user) in [(Role::Scheduler, None), (Role::Viewer, None), (Role::User, Some("alice"))] {
            keys.push(create_key(&server.fixture, role, user).await);
        }
        let (operations, schema) = (rest::operations(), graphql::Schema::read());
        let mut failed = Vec::new();
        for number in 0..requests {
            // Each request has a seed of its own, so that one can be sent again by itself.
            let mut dice = Dice::seeded(seed.wrapping_add(number));
            if number % EPOCH == 0 {
                furnish(&server.fixture).await;
            }
            let asked = if number % 3 == 0 {
                Some(graphql_request(&schema, &keys, &mut dice))
            } else {
                rest::request(dice.item(&operations), &keys, &mut dice)
            };
            let Some(asked) = asked else { continue };
            let told = asked.told.clone();
            let sent = std::panic::AssertUnwindSafe(send(&server, asked));
            if futures::FutureExt::catch_unwind(sent).await.is_err() {
                failed.push(format!("request {number} (seed {}): {told}", seed.wrapping_add(number)));
            }
        }
        assert!(failed.is_empty(), "FUZZ_SEED={seed}: {} requests, the first of them:\n{}", failed.len(),
            failed.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n"));
    }
}
