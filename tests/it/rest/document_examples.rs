//! The examples of the OpenAPI document, which `/docs` shows at each endpoint and users copy.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Map, Value};

use super::contract::CONTRACT;
use super::document_validity::operations;
use super::support::Server;
use crate::support::on_both;

/// Every body that an operation takes or answers: its place in the document, and its media type with schema and example.
fn bodies(what: &str, operation: &'static Value) -> Vec<(String, &'static Value)> {
    let (method, path) = what.split_once(' ').unwrap();
    let place = format!("/paths/{}/{method}", path.replace('~', "~0").replace('/', "~1"));
    let answers = operation["responses"].as_object().unwrap().iter();
    let answers = answers.map(|(status, answer)| (format!("responses/{status}"), answer));
    let bodies = operation.get("requestBody").map(|body| ("requestBody".to_owned(), body)).into_iter().chain(answers);
    let kinds = |(within, body): (String, &'static Value)| {
        let place = place.clone();
        body["content"].as_object().into_iter().flatten().map(move |(kind, content)| {
            (format!("{place}/{within}/content/{}/schema", kind.replace('/', "~1")), content)
        })
    };
    bodies.flat_map(kinds).collect()
}

#[test]
fn every_body_has_an_example_that_its_schema_allows() {
    let mut count = 0;
    for (what, operation) in operations() {
        for (place, content) in bodies(&what, operation) {
            let example = content.get("example").unwrap_or_else(|| {
                panic!("{place} has no example: give its type, or each part of it, one with #[schema(example = …)]")
            });
            CONTRACT.validate_value(&place, example, &format!("the example of {place}"));
            count += 1;
        }
    }
    assert!(count > 600, "{count}");
}

#[test]
fn the_example_of_a_refusal_has_its_status() {
    for (what, operation) in operations() {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            if let Some(content) = answer["content"].get("application/problem+json") {
                assert_eq!(content["example"]["status"].to_string(), *status, "{what}");
            }
        }
    }
}

/// The path of an operation with the examples of its parameters, and the examples of the query parameters that it needs.
fn example_path(path: &str, operation: &Value) -> String {
    let mut path = path.to_owned();
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let text = || match &parameter["example"] {
            Value::String(text) => text.clone(),
            Value::Null => panic!("{name} has no example"),
            other => other.to_string(),
        };
        if parameter["in"] == "path" {
            path = path.replace(&format!("{{{name}}}"), &text());
        } else if parameter["in"] == "query" && parameter["required"] == true {
            query.push(format!("{name}={}", text()));
        }
    }
    if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
}

/// The operations that create what the others refer to, in the order of their dependencies.
const FIRST: [&str; 7] = [
    "put /resource-groups/{rg}",
    "put /domains/{name}",
    "put /projects/{id}",
    "put /users/{uuid}",
    "put /resource-groups/{rg}/agents",
    "put /resource-groups/{rg}/queues",
    "post /resource-groups/{rg}/kernels",
];

/// It may remove what others refer to.
const LAST: &str = "post /audit-log/{id}/undo";

on_both! {
    async fn a_server_can_read_each_example_of_a_request(db: TestDb) {
        let server = Server::new(db).await;
        let all: Map<String, Value> = operations().map(|(what, operation)| (what, operation.clone())).collect();
        let first = FIRST.iter().map(|what| ((*what).to_owned(), all[*what].clone()));
        let others = all.clone().into_iter().filter(|(what, _)| !FIRST.contains(&&**what) && what != LAST);
        let last = [(LAST.to_owned(), all[LAST].clone())];
        for (what, operation) in first.chain(others).chain(last) {
            let Some(body) = operation.get("requestBody") else { continue };
            let body = &body["content"]["application/json"]["example"];
            let (method, path) = what.split_once(' ').unwrap();
            let path = example_path(path, &operation);
            let answer = server.call(&method.to_uppercase(), &path, Some(body)).await;
            let text = String::from_utf8_lossy(&answer.bytes);
            // The example may name what is not there, or stand against what is there; the entry of the undo may be about agents.
            let is_read = answer.status.is_success()
                || [404, 409].contains(&answer.status.as_u16())
                || what == LAST && text.contains("\"not_undoable\"");
            assert!(is_read, "{what} {path} {body}: {} {text}", answer.status);
        }
    }

    async fn the_viewer_gets_the_examples(db: TestDb) {
        let server = Server::new(db).await;
        let document = server.send(Request::get("/openapi.json").body(Body::empty()).unwrap()).await.json(200);
        let example = |pointer: &str| document.pointer(pointer).cloned().unwrap_or_else(|| panic!("{pointer}"));
        let sequence = example("/paths/~1resource-groups~1{rg}~1sequence/post/requestBody/content/application~1json/example");
        assert!(sequence["workloads"][0]["workload_id"].is_string(), "{sequence}");
        let gone = example("/paths/~1domains~1{name}/get/responses/404/content/application~1problem+json/example");
        assert_eq!((gone["status"].as_u64(), gone["title"].as_str()), (Some(404), Some("Not Found")), "{gone}");
    }
}
