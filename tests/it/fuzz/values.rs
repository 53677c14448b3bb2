//! Random values from JSON schemas: valid ones, edge cases, and invalid ones.

use serde_json::{Map, Value, json};

use crate::support::dice::Dice;
use crate::support::fixture::{GROUP, id};

/// Names that the server knows, and some that it does not.
pub const NAMES: [&str; 18] = [
    GROUP,
    "research",
    "sales",
    "vision",
    "audio",
    "alice",
    "bob",
    "node-01",
    "default",
    "aggregate",
    "divide",
    "rebuild",
    "purge",
    "fairshare",
    "cpu",
    "weights.put",
    "no such thing",
    "другое",
];
const SLOTS: [&str; 4] = ["cpu", "mem", "cuda.device", "never.seen"];
const AMOUNTS: [&str; 14] = [
    "0",
    "1",
    "0.5",
    "4",
    "100",
    "1000000",
    "1000000000000000000000",
    "1000000000000000000001",
    "0.000000000001",
    "0.0000000000001",
    "-1",
    "unlimited",
    "1e3",
    "",
];
const TIMES: [&str; 9] = [
    "2026-01-13T10:00:00Z",
    "2026-01-12T00:00:00Z",
    "2026-01-13T11:59:59.999999Z",
    "2026-01-13T12:00:00+02:00",
    "2016-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "now",
];
const DAYS: [&str; 6] = ["2026-01-13", "2026-01-12", "2025-01-01", "0001-01-01", "9999-12-31", "2026-02-30"];
const INTEGERS: [i64; 12] =
    [0, 1, 2, 10, 1000, 1001, -1, i32::MAX as i64, i32::MIN as i64, 1 << 53, i64::MAX, i64::MIN];

/// Texts that no reader expects.
pub fn odd_text(dice: &mut Dice) -> String {
    match dice.roll(9) {
        0 => String::new(),
        1 => "x".repeat(10_000),
        2 => "\u{0}\u{1b}[31m".to_owned(),
        3 => "\u{202e}🦀\u{feff}é".repeat(20),
        4 => "' OR 1=1; --".to_owned(),
        5 => "%_\\%".to_owned(),
        6 => "../../etc/passwd".to_owned(),
        7 => " padded ".to_owned(),
        _ => "NaN".to_owned(),
    }
}

/// Any JSON, mostly of the wrong kind.
pub fn odd_value(dice: &mut Dice) -> Value {
    match dice.roll(14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!([]),
        3 => json!({}),
        4 => json!(-1),
        5 => json!(1e308),
        6 => json!(u64::MAX),
        7 => json!(0.1),
        8 => json!([[[[]]]]),
        9 => (0..60).fold(json!("deep"), |inner, _| json!([inner])),
        10 => (0..60).fold(json!(1), |inner, _| json!({"a": inner})),
        11 => json!({"__proto__": {"constructor": null}}),
        _ => json!(odd_text(dice)),
    }
}

pub fn name(dice: &mut Dice) -> String {
    dice.pick(&NAMES).to_owned()
}

pub fn uuid(dice: &mut Dice) -> String {
    match dice.roll(8) {
        0 => "00000000-0000-0000-0000-000000000000".to_owned(),
        1 => uuid::Uuid::from_u128(u128::from(dice.roll(u64::MAX))).to_string(),
        _ => id(dice.pick(&["alice", "bob", "carol", "vision", "audio", "k1", "k2", "new"])).to_string(),
    }
}

pub fn time(dice: &mut Dice) -> String {
    dice.pick(&TIMES).to_owned()
}

pub fn day(dice: &mut Dice) -> String {
    dice.pick(&DAYS).to_owned()
}

pub fn amount(dice: &mut Dice) -> String {
    dice.pick(&AMOUNTS).to_owned()
}

pub fn integer(dice: &mut Dice) -> i64 {
    *dice.item(&INTEGERS)
}

/// Values for the schemas of one document.
pub struct Values<'a> {
    pub document: &'a Value,
}

impl Values<'_> {
    /// A value that satisfies `schema`, or nearly: amounts, times and numbers may lie beyond their limits.
    pub fn of(&self, schema: &Value, dice: &mut Dice, depth: u32) -> Value {
        if let Some(place) = schema["$ref"].as_str() {
            return self.of(&self.document.pointer(&place[1..]).cloned().unwrap_or_default(), dice, depth);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[key].as_array() {
                return self.of(dice.item(choices), dice, depth);
            }
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let objects = parts.iter().map(|part| self.of(part, dice, depth));
            let keys = objects.filter_map(|part| part.as_object().cloned()).flatten();
            return keys.collect::<Map<_, _>>().into();
        }
        if let Some(choices) = schema["enum"].as_array() {
            return dice.item(choices).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => dice.item(kinds).as_str().unwrap_or_default().to_owned(),
            kind => kind.as_str().unwrap_or_default().to_owned(),
        };
        match kind.as_str() {
            "object" => self.object(schema, dice, depth),
            "array" if depth > 6 => json!([]),
            "array" => (0..dice.roll(4)).map(|_| self.of(&schema["items"], dice, depth + 1)).collect(),
            "string" => json!(text(schema, dice)),
            "integer" => json!(integer(dice)),
            "number" => json!(*dice.item(&[0.0, 1.0, 0.5, 1e21, 1e-12, 0.1])),
            "boolean" => json!(dice.one_in(2)),
            "null" => Value::Null,
            _ => odd_value(dice),
        }
    }

    fn object(&self, schema: &Value, dice: &mut Dice, depth: u32) -> Value {
        let mut object = Map::new();
        if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
            for _ in 0..dice.roll(3) {
                object.insert(dice.pick(&SLOTS).to_owned(), self.of(inner, dice, depth + 1));
            }
        }
        let is_required = |key: &str| schema["required"].as_array().is_some_and(|keys| keys.iter().any(|k| k == key));
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            if is_required(key) || depth < 7 && dice.one_in(2) {
                object.insert(key.clone(), self.of(inner, dice, depth + 1));
            }
        }
        object.into()
    }
}

/// A text in the schema's format, or one of the words in backticks of its description.
fn text(schema: &Value, dice: &mut Dice) -> String {
    let told: Vec<&str> = schema["description"].as_str().unwrap_or_default().split('`').skip(1).step_by(2).collect();
    match schema["format"].as_str() {
        Some("uuid") => uuid(dice),
        Some("date-time") => time(dice),
        Some("date") => day(dice),
        _ if schema["type"].is_array() => amount(dice),
        _ if !told.is_empty() && !dice.one_in(4) => dice.pick(&told).to_owned(),
        _ if dice.one_in(12) => odd_text(dice),
        _ => name(dice),
    }
}

/// Makes one value in `value` invalid.
pub fn spoil(value: &mut Value, dice: &mut Dice) {
    let inner = match value {
        Value::Object(keys) if !keys.is_empty() && !dice.one_in(4) => {
            let at = dice.roll(keys.len() as u64);
            let at = usize::try_from(at).unwrap();
            let key = keys.keys().nth(at).cloned().unwrap_or_default();
            match dice.roll(6) {
                0 => {
                    keys.remove(&key);
                    return;
                }
                1 => {
                    let taken = keys.remove(&key).unwrap_or_default();
                    keys.insert(format!("{key}s"), taken);
                    return;
                }
                2 => {
                    keys.insert(odd_text(dice), odd_value(dice));
                    return;
                }
                _ => keys.get_mut(&key),
            }
        }
        Value::Array(items) if !items.is_empty() && !dice.one_in(4) => {
            let at = usize::try_from(dice.roll(items.len() as u64)).unwrap();
            if dice.one_in(4) {
                items.push(items[at].clone());
            }
            items.get_mut(at)
        }
        _ => None,
    };
    match inner {
        Some(inner) => spoil(inner, dice),
        None => *value = odd_value(dice),
    }
}
