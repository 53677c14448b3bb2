//! The OpenAPI document and its viewer.

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use fairshared::domain::time::Timestamp;
use fairshared::service::jobs::{JobControl, JobDefinition, JobRun};
use fairshared::service::metadata::ServerMetadata;
use fairshared::service::{Result, VisibleGroup};
use futures::future::BoxFuture;
use serde_json::{Value, json};

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

/// A runner without jobs.
struct NoJobs;

impl JobControl for NoJobs {
    fn jobs(&self) -> Vec<JobDefinition> {
        Vec::new()
    }

    fn next_run_at(&self, _: &str, _: Option<&VisibleGroup>, _: Option<Timestamp>) -> Option<Timestamp> {
        None
    }

    fn run_now(self: Arc<Self>, _: String, _: Option<String>) -> BoxFuture<'static, Option<Result<Vec<JobRun>>>> {
        Box::pin(async { None })
    }
}

/// The unit tests of the web pages read the file. Regenerate it as the document.
#[test]
fn the_facts_for_tests_of_the_web_pages_are_those_of_the_server() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/src/lib/metadata.sample.json");
    let mut current = serde_json::to_string_pretty(&ServerMetadata::collect(&NoJobs)).unwrap();
    current.push('\n');
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &current).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == current, "ui/src/lib/metadata.sample.json is stale; run this test with UPDATE_SCHEMAS=1");
}

/// Every `$ref` of the document and every place that it names.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(keys) => {
            found.extend(keys.get("$ref").and_then(|r| r.as_str()).map(str::to_owned));
            keys.values().for_each(|v| references(v, found));
        }
        Value::Array(items) => items.iter().for_each(|v| references(v, found)),
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

/// Users copy the examples.
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
    let named = |list: &&Vec<Value>, name: &str| list.iter().find(|p| p["name"] == name).cloned();
    let pages: Vec<_> = parameters.filter(|list| named(list, "cursor").is_some()).collect();
    assert!(pages.len() > 8);
    for list in pages {
        let schema = &named(&list, "limit").unwrap()["schema"];
        assert_eq!((&schema["minimum"], &schema["maximum"]), (&json!(1), &json!(1000)), "{list:?}");
        let said = named(&list, "limit").unwrap()["description"].as_str().unwrap().to_owned();
        let default = if said.contains("Without `limit`") { Value::Null } else { json!(100) };
        assert_eq!(schema["default"], default, "{list:?}");
    }
}

/// Every property of the document's schemas, with its name.
fn properties<'a>(value: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    let children: Vec<&Value> = match value {
        Value::Object(keys) => {
            found.extend(
                keys.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (&**k, v)),
            );
            keys.iter().filter(|(key, _)| !key.starts_with("example")).map(|(_, value)| value).collect()
        }
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    for child in children {
        properties(child, found);
    }
}

#[test]
fn names_and_labels_have_their_forms_in_the_document() {
    let mut found = Vec::new();
    properties(&CONTRACT.document()["components"]["schemas"], &mut found);
    let (names, labels) = (
        ["domain_name", "agent_id", "agent_ids", "queue", "gang_id", "resource_group", "resource_groups"],
        ["label", "display_name", "user_name", "project_name", "user", "project"],
    );
    for (keys, most) in [(&names[..], 64), (&labels[..], 255)] {
        for key in keys {
            let texts: Vec<&Value> = found.iter().filter(|(name, _)| name == key).map(|(_, schema)| *schema).collect();
            assert!(!texts.is_empty(), "{key}");
            // A key may also bring a whole queue, or take what is ignored.
            for schema in texts.into_iter().filter(|s| s.get("$ref").is_none() && s.get("readOnly").is_none()) {
                // A text, a list of texts, or either of them or null.
                let choices =
                    schema.get("anyOf").and_then(Value::as_array).map_or(std::slice::from_ref(schema), Vec::as_slice);
                for choice in choices.iter().filter(|choice| choice["type"] != "null") {
                    let text = choice.get("items").unwrap_or(choice);
                    assert_eq!((&text["minLength"], &text["maxLength"]), (&json!(1), &json!(most)), "{key}: {schema}");
                    assert!(text["pattern"].is_string(), "{key}: {schema}");
                }
            }
        }
    }
    for (path, item) in CONTRACT.document()["paths"].as_object().unwrap() {
        let operations = item.as_object().unwrap().values().filter_map(|operation| operation["parameters"].as_array());
        for parameter in operations.flatten().filter(|parameter| parameter["in"] == "path") {
            let is_name = ["rg", "agent_id", "queue", "source"].contains(&parameter["name"].as_str().unwrap());
            if is_name || path == "/domains/{name}" {
                let schema = &parameter["schema"];
                assert_eq!((&schema["minLength"], &schema["maxLength"]), (&json!(1), &json!(64)), "{path}");
                assert!(schema["pattern"].is_string(), "{path}");
            }
        }
    }
}

#[test]
fn texts_have_the_forms_that_the_document_says() {
    let holds = |schema: &str, text: &str| CONTRACT.allows(schema, &json!(text));
    for (schema, taken, refused) in [
        (
            "Amount",
            &["0", "0.5", "1000000000000000000000", "1.1234567890120"][..],
            &["", ".5", "1.", "1e3", "64Gi", "unlimited", "1.1234567890123", "-1"][..],
        ),
        ("Bound", &["0.5", "unlimited"], &["64Gi", "limited", "unlimited "]),
        ("Weight", &["2", "0.0001", "1.00000"], &["0.00001", "x", "1,5"]),
    ] {
        for (texts, allowed) in [(taken, true), (refused, false)] {
            for text in texts {
                assert_eq!(holds(schema, text), allowed, "{schema} {text}");
            }
        }
    }
    let agent =
        |id: &str, mem: &str| CONTRACT.allows("AgentBody", &json!({"agent_id": id, "available_slots": {"mem": mem}}));
    for (id, mem, allowed) in [
        ("node 1", "64Gi", true),
        ("node", "500m", true),
        ("node", "1e3", true),
        ("\u{e9}", "+1.5k", true),
        ("node", ".5", true),
        ("node", "64Zi", false),
        ("node", "", false),
        ("node", "Gi", false),
        ("", "1", false),
        ("a/b", "1", false),
        ("a\u{85}b", "1", false),
        ("a\u{7}b", "1", false),
        (&"n".repeat(64), "1", true),
        (&"n".repeat(65), "1", false),
    ] {
        assert_eq!(agent(id, mem), allowed, "{id:?} {mem}");
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
