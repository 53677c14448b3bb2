//! The OpenAPI document as a contract. Every answer that a test gets from the router is checked against it: its status, its
//! media type and its body; so is every accepted body.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use axum::http::{Method, header};
use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Map, Value, json};

use super::support::Answer;

const ADDRESS: &str = "http://localhost/openapi.json";
const PROBLEM: &str = "/components/schemas/Problem";

pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let mut document = serde_json::to_value(fairshared::rest::openapi()).unwrap();
    close(&mut document);
    Contract::of(document)
});

pub struct Contract {
    document: Value,
    schemas: Schemas,
    /// The compiled schemas by their place in the document.
    compiled: HashMap<String, SchemaIndex>,
}

/// One operation of the document and its place there.
struct Operation<'a> {
    place: String,
    /// `None`: the path does not have this method.
    value: Option<&'a Value>,
}

impl Contract {
    fn of(document: Value) -> Self {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource(ADDRESS, document.clone()).unwrap();
        let (mut schemas, mut compiled) = (Schemas::new(), HashMap::new());
        let named = document["components"]["schemas"].as_object().unwrap().keys();
        let named: Vec<String> = named.map(|name| format!("/components/schemas/{name}")).collect();
        for place in places_of_schemas(&document).into_iter().chain(named) {
            let found = compiler.compile(&format!("{ADDRESS}#{place}"), &mut schemas);
            compiled.insert(place.clone(), found.unwrap_or_else(|error| panic!("{place}: {error:#}")));
        }
        Self { document, schemas, compiled }
    }

    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The operation that answers `method` at `path`; `None` where the document knows no such path.
    fn operation(&self, method: &Method, path: &str) -> Option<Operation<'_>> {
        let paths = self.document["paths"].as_object().unwrap();
        let fitting = paths.iter().filter(|(template, _)| fits(template, path));
        // A literal part says more than a parameter does.
        let (template, item) = fitting.min_by_key(|(template, _)| template.matches('{').count())?;
        let method = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_lowercase() };
        let place = format!("/paths/{}/{method}", escaped(template));
        Some(Operation { place, value: item.get(&method) })
    }

    /// Fails unless the document allows this answer.
    #[track_caller]
    pub fn hold(&self, method: &Method, path: &str, answer: &Answer) {
        let (status, what) = (answer.status, format!("{method} {path}: {}", answer.status));
        let kind = answer.headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap());
        let kind = kind.map(|kind| kind.split(';').next().unwrap().trim());
        let has_body = method != Method::HEAD;
        // GraphQL has errors of its own form.
        let is_of_graphql = path == "/graphql" && kind == Some("application/graphql-response+json");
        if !is_of_graphql && (status.is_client_error() || status.is_server_error()) {
            assert_eq!(kind, Some("application/problem+json"), "{what}");
            if has_body {
                self.validate(PROBLEM, &answer.bytes, &what);
            }
        }
        let Some(Operation { place, value }) = self.operation(method, path) else { return };
        let Some(value) = value else {
            assert!(status.is_client_error(), "{what}: no such operation is documented");
            return;
        };
        let documented = &value["responses"][status.as_str()];
        assert!(documented.is_object(), "{what}: the status is not documented");
        let Some(content) = documented.get("content") else {
            assert!(answer.bytes.is_empty(), "{what}: a body that is not documented");
            return;
        };
        let kind = kind.unwrap_or_else(|| panic!("{what}: no content type"));
        assert!(content.get(kind).is_some(), "{what}: {kind} is not documented");
        if has_body && !answer.headers.contains_key(header::CONTENT_ENCODING) {
            let place = format!("{place}/responses/{}/content/{}/schema", status.as_str(), escaped(kind));
            if kind.ends_with("json") {
                self.validate(&place, &answer.bytes, &what);
            } else {
                self.validate_value(&place, &json!(String::from_utf8_lossy(&answer.bytes)), &what);
            }
        }
    }

    /// Fails if the document does not allow a body that was taken.
    #[track_caller]
    pub fn hold_request(&self, method: &Method, path: &str, body: &Value) {
        let Some(Operation { place, value: Some(value) }) = self.operation(method, path) else { return };
        let what = format!("{method} {path} took what is not documented: {body}");
        assert!(value.get("requestBody").is_some(), "{what}");
        let place = format!("{place}/requestBody/content/application~1json/schema");
        self.validate_value(&place, body, &what);
    }

    /// True if the schema of this name allows the value.
    pub fn allows(&self, name: &str, value: &Value) -> bool {
        self.schemas.validate(value, self.compiled[&format!("/components/schemas/{name}")]).is_ok()
    }

    /// Fails unless the schema of this name allows the example.
    #[track_caller]
    pub fn hold_example(&self, name: &str, example: &Value) {
        self.validate_value(&format!("/components/schemas/{name}"), example, name);
    }

    #[track_caller]
    fn validate(&self, place: &str, bytes: &[u8], what: &str) {
        let value = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        self.validate_value(place, &value, what);
    }

    /// Fails unless the schema at this place of the document allows the value.
    #[track_caller]
    pub fn validate_value(&self, place: &str, value: &Value, what: &str) {
        if let Err(error) = self.schemas.validate(value, self.compiled[place]) {
            panic!("{what}: {error:#}\n{value}");
        }
    }
}

/// True if `template` stands for `path`.
fn fits(template: &str, path: &str) -> bool {
    let (mut parts, mut given) = (template.split('/'), path.split('/'));
    let fit = |(part, given): (&str, &str)| part == given || part.starts_with('{') && !given.is_empty();
    parts.by_ref().zip(given.by_ref()).all(fit) && template.split('/').count() == path.split('/').count()
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The places of schemas of bodies in the document.
fn places_of_schemas(document: &Value) -> Vec<String> {
    let mut places = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("/paths/{}/{method}", escaped(path));
            let mut add = |within: String, content: &Value| {
                for kind in content.as_object().into_iter().flat_map(Map::keys) {
                    places.push(format!("{place}/{within}/content/{}/schema", escaped(kind)));
                }
            };
            add("requestBody".to_owned(), &operation["requestBody"]["content"]);
            for (status, response) in operation["responses"].as_object().into_iter().flatten() {
                add(format!("responses/{status}"), &response["content"]);
            }
        }
    }
    places
}

/// Closes every object whose keys are listed, so that an answer with an undocumented key fails. Parts of a composed schema
/// stay open, because each of them sees the keys of the others.
fn close(document: &mut Value) {
    let mut parts = BTreeSet::new();
    parts_of_wholes(document, &mut parts);
    for (name, schema) in document["components"]["schemas"].as_object_mut().unwrap() {
        close_schema(schema, parts.contains(name));
    }
    for item in document["paths"].as_object_mut().unwrap().values_mut() {
        close_schema(item, false);
    }
}

fn parts_of_wholes(value: &Value, parts: &mut BTreeSet<String>) {
    let children: Vec<&Value> = match value {
        Value::Object(keys) => keys.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return,
    };
    for part in value["allOf"].as_array().into_iter().flatten() {
        parts.extend(part["$ref"].as_str().map(|name| name.rsplit('/').next().unwrap().to_owned()));
    }
    for child in children {
        parts_of_wholes(child, parts);
    }
}

fn close_schema(value: &mut Value, is_part: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| close_schema(item, false)),
        Value::Object(keys) => {
            let listed =
                keys.get("properties").is_some_and(Value::is_object) && !keys.contains_key("additionalProperties");
            let whole = keys.contains_key("allOf");
            if !is_part && (listed || whole) {
                keys.insert("unevaluatedProperties".to_owned(), json!(false));
            }
            for (key, child) in keys.iter_mut().filter(|(key, _)| *key != "example" && *key != "examples") {
                match child {
                    Value::Array(parts) if key == "allOf" => parts.iter_mut().for_each(|part| close_schema(part, true)),
                    child => close_schema(child, false),
                }
            }
        }
        _ => {}
    }
}
