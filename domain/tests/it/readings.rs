//! The fast readers return the same as the careful ones, or nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;

use domain::reading::{Unique, read_from, read_hastily};
use domain::slots::Amounts;
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::support::cases;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    name: Option<String>,
    id: u32,
    #[serde(default)]
    cpu: Vec<Kind>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Loose {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Cpu,
    Mem(u32),
    Name { id: u32 },
}

fn same_as<T: DeserializeOwned + PartialEq + Debug>(json: &str) {
    let hasty = read_hastily::<T, _>(&mut serde_json::Deserializer::from_str(json));
    let full = read_from::<T, _>(&mut serde_json::Deserializer::from_str(json), "invalid_type").ok();
    assert_eq!(hasty, full, "{json}");
}

fn same(json: &str) {
    same_as::<Value>(json);
    same_as::<Amounts>(json);
    same_as::<Strict>(json);
    same_as::<Loose>(json);
    same_as::<Kind>(json);
    same_as::<Vec<Option<String>>>(json);
    same_as::<BTreeMap<String, Value>>(json);
    same_as::<BTreeMap<u32, Value>>(json);
    same_as::<BTreeMap<bool, Value>>(json);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["cpu", "mem", "name", "id", "7", "true", "1.5", "", "a\0b", "a\"b", "ä\n"])
            .prop_map(str::to_owned),
        ".{0,4}",
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..4)
                .prop_map(|entries| Value::from(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

#[test]
fn documents_of_the_right_form_are_read() {
    let strict = json!({"name": "a", "id": 3, "cpu": ["cpu", {"mem": 4}, {"name": {"id": 5}}]}).to_string();
    assert!(read_hastily::<Strict, _>(&mut serde_json::Deserializer::from_str(&strict)).is_some());
    for json in
        [strict.as_str(), r#"{"cpu": "1.5", "mem": 2}"#, r#"{"n\u0061me": "a"}"#, r#"{"id": 1, "id": 2}"#, "{", "7 7"]
    {
        same(json);
    }
}

#[test]
fn a_key_that_is_named_again_is_found() {
    for (json, repeated) in [
        (r#"{"a": 1, "b": 1, "A": {"a": 1}}"#, None),
        (r#"{"a": 1, "a": 1}"#, Some("/a")),
        (r#"{"a": {"b/c": 1, "b/c": 2}}"#, Some("/a/b~1c")),
        (r#"[[], [{"a": 1}, {"x": 1, "x": null}], {"y": 1, "y": 1}]"#, Some("/1/1/x")),
        (r#"{"a": 1, "\u0061": 2}"#, Some("/a")),
    ] {
        assert_eq!(serde_json::from_str::<Unique>(json).unwrap().repeated.as_deref(), repeated, "{json}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_document_without_repeated_keys_is_read_as_it_is(document in any_json()) {
        let value = serde_json::from_str::<Value>(&document.to_string()).unwrap();
        assert_eq!(serde_json::from_str::<Unique>(&document.to_string()).unwrap(), Unique { value, repeated: None });
    }

    #[test]
    fn any_document_is_read_alike(document in any_json()) {
        same(&document.to_string());
    }
}
