//! The endpoint and the query page as HTTP.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::support::Api;
use crate::support::fixture::admin;
use crate::support::on_both;

fn post() -> axum::http::request::Builder {
    Request::post("/graphql").header("content-type", "application/json")
}

async fn page(api: &Api) -> (String, String) {
    let (status, headers, body) = api.http(None, Request::get("/graphql").body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    let policy = headers["content-security-policy"].to_str().unwrap().to_owned();
    (policy, String::from_utf8(body.to_vec()).unwrap())
}

on_both! {
    async fn what_is_no_request_is_a_problem(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let deep = format!(r#"{{"query": "{{ __typename }}", "variables": {{"a": {}}}}}"#, "[".repeat(10_000));
        for (body, code) in [
            (&b"{"[..], "malformed_json"), (b"", "malformed_json"), (b"[]", "malformed_json"), (b"null", "malformed_json"),
            (b"{\"query\": 5}", "malformed_json"), (b"{\"query\": \"\xff\"}", "invalid_utf8"),
            (b"{ resource_groups { name } }", "malformed_json"), (deep.as_bytes(), "too_deep"),
        ] {
            let request = post().body(Body::from(body.to_vec())).unwrap();
            let (status, headers, answer) = api.http(Some(admin()), request).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{}", String::from_utf8_lossy(body));
            assert_eq!(headers["content-type"], "application/problem+json");
            let problem: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(400)));
        }
    }

    async fn numbers_of_variables_keep_their_digits(db: TestDb) {
        let api = Api::cluster(db).await;
        let query = r#"mutation ($queues: [QueueInput!]!) { upsert_queues(resource_group: \"gpu-cluster\", queues: $queues)
            { affected_queues { quota } } }"#.replace('\n', " ");
        let body = format!(r#"{{"query": "{query}", "variables": {{"queues": [{{"name": "a", "priority": 3, "quota": {{"mem": 123456789.123456789}}}}]}}}}"#);
        let request = post().body(Body::from(body)).unwrap();
        let (_, _, answer) = api.http(Some(admin()), request).await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["data"]["upsert_queues"]["affected_queues"][0]["quota"], r#"{"mem":"123456789.123456789"}"#, "{answer}");
    }

    async fn the_page_needs_no_key_and_no_network(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let (policy, html) = page(&api).await;
        assert!(policy.starts_with("default-src 'none';"));
        for tag in ["script", "style"] {
            let (_, rest) = html.split_once(&format!("<{tag}>")).unwrap();
            let (inner, _) = rest.split_once(&format!("</{tag}>")).unwrap();
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(inner)));
            assert!(policy.contains(&hash), "{tag}");
        }
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("style=\"") && !html.contains("onclick"));
    }

    async fn the_examples_of_the_page_run(db: TestDb) {
        let api = Api::cluster(db).await;
        let (_, html) = page(&api).await;
        let (_, rest) = html.split_once("const EXAMPLES = {").unwrap();
        let (examples, _) = rest.split_once("\n};").unwrap();
        let queries: Vec<_> = examples.split('`').skip(1).step_by(2).collect();
        assert!(queries.len() >= 5);
        for query in queries {
            let query = query.replace("${GROUP}", "$group: String!");
            let variables = if query.contains("$group") { json!({"group": "gpu-cluster"}) } else { json!({}) };
            let answer = api.send(admin(), &query, variables).await;
            assert!(answer.get("errors").is_none(), "{query}: {answer}");
        }
    }
}
