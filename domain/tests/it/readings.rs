//! JSON of any form is read as it is, and a key that occurs twice in its object is found.

use domain::reading::UniqueValue;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::support::cases;

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
fn a_key_that_is_named_again_is_found() {
    for (json, repeated) in [
        (r#"{"a": 1, "b": 1, "A": {"a": 1}}"#, None),
        (r#"{"a": 1, "a": 1}"#, Some("/a")),
        (r#"{"a": {"b/c": 1, "b/c": 2}}"#, Some("/a/b~1c")),
        (r#"[[], [{"a": 1}, {"x": 1, "x": null}], {"y": 1, "y": 1}]"#, Some("/1/1/x")),
        (r#"{"a": 1, "\u0061": 2}"#, Some("/a")),
    ] {
        assert_eq!(serde_json::from_str::<UniqueValue>(json).unwrap().repeated.as_deref(), repeated, "{json}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_document_without_repeated_keys_is_read_as_it_is(document in any_json()) {
        let value = serde_json::from_str::<Value>(&document.to_string()).unwrap();
        assert_eq!(serde_json::from_str::<UniqueValue>(&document.to_string()).unwrap(), UniqueValue { value, repeated: None });
    }
}
