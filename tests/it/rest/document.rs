//! The OpenAPI document and its viewer.

use std::path::Path;

use axum::body::Body;
use axum::http::Request;

use super::contract::CONTRACT;
use super::support::Server;
use crate::support::on_both;

/// Regenerate with `UPDATE_SCHEMAS=1 cargo test --test it rest::document`.
#[test]
fn the_checked_in_document_is_what_the_endpoints_declare() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/fairshared.json");
    let mut current = fairshared::rest::openapi().to_pretty_json().unwrap();
    current.push('\n');
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &current).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == current, "openapi/fairshared.json is stale; run this test with UPDATE_SCHEMAS=1");
}

/// Every `$ref` of the document and every place that it names.
fn references(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(keys) => {
            found.extend(keys.get("$ref").and_then(|r| r.as_str()).map(str::to_owned));
            keys.values().for_each(|v| references(v, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|v| references(v, found)),
        _ => {}
    }
}

#[test]
fn every_reference_names_something() {
    let document = CONTRACT.document();
    let mut found = Vec::new();
    references(document, &mut found);
    assert!(found.len() > 100);
    for reference in found {
        let place = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference}"));
        assert!(document.pointer(place).is_some(), "{reference}");
    }
}

/// The examples are what a person copies.
#[test]
fn every_example_fits_its_schema() {
    let schemas = CONTRACT.document()["components"]["schemas"].as_object().unwrap();
    let with_example: Vec<_> = schemas.iter().filter(|(_, schema)| schema.get("example").is_some()).collect();
    assert!(with_example.len() > 20);
    for (name, schema) in with_example {
        CONTRACT.hold_example(name, &schema["example"]);
    }
}

#[test]
fn pages_have_their_limits_in_the_document() {
    let document = CONTRACT.document();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    let parameters = operations.filter_map(|operation| operation["parameters"].as_array());
    let named = |list: &&Vec<serde_json::Value>, name: &str| list.iter().find(|p| p["name"] == name).cloned();
    let pages: Vec<_> = parameters.filter(|list| named(list, "cursor").is_some()).collect();
    assert!(pages.len() > 8);
    for list in pages {
        let schema = &named(&list, "limit").unwrap()["schema"];
        assert_eq!(
            (&schema["minimum"], &schema["maximum"]),
            (&serde_json::json!(1), &serde_json::json!(1000)),
            "{list:?}"
        );
    }
}

on_both! {
    async fn document_and_viewer_need_no_key_and_no_internet(db: TestDb) {
        let server = Server::new(db).await;
        let open = |path: &str| server.send(Request::get(path).body(Body::empty()).unwrap());
        let document = open("/openapi.json").await.json(200);
        assert_eq!(document["info"]["title"], "fairshared");
        let page = open("/docs/").await;
        assert_eq!(page.status, 200);
        let text = String::from_utf8(page.bytes.to_vec()).unwrap();
        assert!(!text.contains("//cdn") && !text.contains("https://"), "{text}");
        for part in ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-initializer.js"] {
            assert_eq!(open(&format!("/docs/{part}")).await.status, 200, "{part}");
        }
    }
}
