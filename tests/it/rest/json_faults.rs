//! The errors about JSON that cannot be read.

use std::collections::BTreeMap;

use fairshared::domain::decimal::Amount;
use fairshared::domain::slots::SlotAmounts;
use fairshared::domain::time::Timestamp;
use fairshared::engine::error::Error;
use fairshared::service::input::json::read;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "only read")]
struct Sample {
    id: Option<uuid::Uuid>,
    count: Option<u32>,
    ratio: Option<f64>,
    list: Option<Vec<u8>>,
    map: Option<BTreeMap<String, u8>>,
    kind: Option<Which>,
    amount: Option<Amount>,
    slots: Option<SlotAmounts>,
    at: Option<Timestamp>,
    inner: Option<Inner>,
    more: Option<Vec<Inner>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Which {
    First,
    Second,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only read")]
struct Inner {
    a: u8,
}

#[test]
fn faults_are_told_in_sentences_that_begin_with_their_subject() {
    for (body, code, detail) in [
        ("7", "invalid_type", "the JSON document is not an object"),
        (r#"{"id": "x"}"#, "invalid_uuid", "`id` is not a UUID"),
        (r#"{"id": 7}"#, "invalid_type", "`id` is not a UUID"),
        (r#"{"count": "x"}"#, "invalid_type", "`count` is not a whole number from 0 to 4294967295"),
        (r#"{"count": -1}"#, "invalid_value", "`count` is not a whole number from 0 to 4294967295"),
        (r#"{"count": 1e999}"#, "invalid_type", "`count` is not a whole number from 0 to 4294967295"),
        (r#"{"ratio": "x"}"#, "invalid_type", "`ratio` is not a number"),
        (r#"{"list": 1}"#, "invalid_type", "`list` is not an array"),
        (r#"{"list": [1, [], 2]}"#, "invalid_type", "`list[1]` is not a whole number from 0 to 255"),
        (r#"{"map": 1}"#, "invalid_type", "`map` is not an object"),
        (r#"{"map": {"a": true}}"#, "invalid_type", "`map.a` is not a whole number from 0 to 255"),
        (r#"{"kind": "third"}"#, "invalid_value", "`kind` is not one of `first`, `second`"),
        (r#"{"kind": 3}"#, "invalid_value", "`kind` is not one of `first`, `second`"),
        (r#"{"amount": true}"#, "invalid_type", "`amount` is not a decimal number"),
        (r#"{"amount": {}}"#, "invalid_type", "`amount` is not a decimal number"),
        (r#"{"amount": "1,5"}"#, "invalid_value", "`amount` is not a decimal number"),
        (r#"{"amount": -1}"#, "invalid_value", "`amount` must not be negative"),
        (r#"{"slots": {"cpu": "x"}}"#, "invalid_value", "`slots.cpu` is not a decimal number"),
        (r#"{"slots": {"cpu": 1, "cpu": 2}}"#, "invalid_value", "`slots` names the slot cpu twice"),
        (
            r#"{"at": "noon"}"#,
            "invalid_value",
            "`at` is not an RFC 3339 time between the years 1970 and 9999, like 2026-01-13T10:00:00Z",
        ),
        (r#"{"at": 7}"#, "invalid_type", "`at` is not a text"),
        (r#"{"inner": {"a": 1, "a": 2}}"#, "duplicate_field", "`inner.a` is given twice"),
        (r#"{"inner": {}}"#, "missing_field", "`inner.a` is missing"),
        (r#"{"inner": [7]}"#, "invalid_type", "`inner` is not an object"),
        (r#"{"more": [{"b": 1}]}"#, "unknown_field", "`b` is not known here; known are `a`"),
    ] {
        let Error::Invalid(faults) = read::<Sample>(body.as_bytes()).unwrap_err().into() else { panic!("{body}") };
        assert_eq!((faults[0].code, faults[0].detail.as_str()), (code, detail), "{body}");
    }
}

#[test]
fn texts_that_are_no_json_are_told_by_their_place() {
    for (body, code, detail) in [
        ("nul", "malformed_json", "the JSON document ends too early"),
        ("nil", "malformed_json", "the JSON document is not JSON from line 1, column 2 on"),
        ("{\"count\": 1}\n}", "malformed_json", "the JSON document is not JSON from line 2, column 1 on"),
        ("{\"count\": ", "malformed_json", "the JSON document ends too early"),
    ] {
        let Error::Malformed { code: found, detail: told } = read::<Sample>(body.as_bytes()).unwrap_err().into() else {
            panic!("{body}")
        };
        assert_eq!((found, told.as_str()), (code, detail), "{body}");
    }
}

#[test]
fn a_number_is_read_from_its_digits() {
    let amount = |json: &str| {
        read::<Sample>(format!(r#"{{"amount": {json}}}"#).as_bytes()).map(|s| s.amount.unwrap().to_string())
    };
    for (json, text) in [
        ("0.3333333333333333", "0.333333333333"),
        ("0.30000000000000004", "0.3"),
        ("0.0000000000005", "0.000000000001"),
        ("0.00000000000049999999999999999999", "0"),
        ("1e3", "1000"),
        ("12.5E-1", "1.25"),
        ("1e-400", "0"),
        ("0e99999999999", "0"),
        ("-0.0", "0"),
        ("999999999999999999999.000000000001", "999999999999999999999.000000000001"),
        ("100000000000000000001", "100000000000000000001"),
        ("123456789012345678.1234567890125", "123456789012345678.123456789013"),
        ("9.9999999999999", "10"),
        (r#""0.5""#, "0.5"),
        (r#""\u0035""#, "5"),
    ] {
        assert_eq!(amount(json).unwrap(), text, "{json}");
    }
    for json in ["1e22", "1e99999999999", "-1e-400", "-1", r#""0.3333333333333333""#, r#""1e3""#] {
        assert!(amount(json).is_err(), "{json}");
    }
}
