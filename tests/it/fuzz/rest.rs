//! Random requests from the OpenAPI document.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::Value;

use super::values::{Values, name, odd_text, odd_value, spoil};
use crate::rest::contract::CONTRACT;
use crate::support::dice::Dice;

/// One request in a printable form, and the request itself.
pub struct Asked {
    pub told: String,
    pub request: Request<Body>,
}

/// An operation of the document.
pub struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    value: &'a Value,
}

pub fn operations() -> Vec<Operation<'static>> {
    let paths = CONTRACT.document()["paths"].as_object().unwrap();
    let of = |(path, item): (&'static String, &'static Value)| {
        let operations = item.as_object().unwrap().iter();
        operations.map(move |(method, value)| Operation { path, method, value })
    };
    paths.iter().flat_map(of).collect()
}

const METHODS: [&str; 9] = ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];
const LINES: &str = "application/x-ndjson";
const KINDS: [&str; 8] = [
    "application/json; charset=utf-8",
    LINES,
    "text/plain",
    "multipart/form-data",
    "application/JSON",
    "application/json; charset=utf-16",
    "*/*",
    "",
];

/// `text` as a part of a path or a query.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// A request for `operation`; `None` if the random values are not valid HTTP.
pub fn request(operation: &Operation<'_>, keys: &[String], dice: &mut Dice) -> Option<Asked> {
    let values = Values { document: CONTRACT.document() };
    let (path, query) = address(operation, &values, dice);
    let method = if dice.one_in(30) { dice.pick(&METHODS).to_owned() } else { operation.method.to_uppercase() };
    let uri = if query.is_empty() { path } else { format!("{path}?{query}") };
    let (kind, body) = body(operation, &values, dice);
    let mut builder = Request::builder().method(Method::from_bytes(method.as_bytes()).ok()?).uri(&uri);
    match dice.roll(40) {
        0 => {}
        1 => builder = builder.header(header::AUTHORIZATION, "Bearer fsk_nobody"),
        2 => builder = builder.header(header::AUTHORIZATION, HeaderValue::from_bytes(b"Basic \xff").ok()?),
        3..8 => builder = builder.header(header::AUTHORIZATION, format!("Bearer {}", dice.item(keys))),
        _ => builder = builder.header(header::AUTHORIZATION, format!("Bearer {}", keys[0])),
    }
    if !kind.is_empty() {
        builder = builder.header(header::CONTENT_TYPE, &kind);
    }
    for (name, value) in odd_headers(dice) {
        builder = builder.header(name, value);
    }
    let shown: String = String::from_utf8_lossy(&body).chars().take(600).collect();
    let told = format!("{method} {uri} [{kind}] {shown}");
    Some(Asked { told, request: builder.body(Body::from(body)).ok()? })
}

/// The path and the query.
fn address(operation: &Operation<'_>, values: &Values<'_>, dice: &mut Dice) -> (String, String) {
    let mut path = operation.path.to_owned();
    let mut query = Vec::new();
    for parameter in operation.value["parameters"].as_array().into_iter().flatten() {
        let key = parameter["name"].as_str().unwrap();
        let fitting = match values.of(&parameter["schema"], dice, 0) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        match parameter["in"].as_str() {
            Some("path") => {
                let part = match (key, dice.roll(20)) {
                    (_, 0) => encoded(&odd_text(dice)),
                    (_, 1) => dice.pick(&["%ff", "%2F", "%00", "..", ".", "a%0Ab", "%F0%9F%A6%80"]).to_owned(),
                    ("rg", 2..20) => crate::support::fixture::GROUP.to_owned(),
                    (_, 2..10) => encoded(&name(dice)),
                    _ => encoded(&fitting),
                };
                path = path.replace(&format!("{{{key}}}"), &part);
            }
            Some("query") if dice.one_in(3) => query.push(format!("{key}={}", encoded(&fitting))),
            Some("query") if dice.one_in(12) => query.push(format!("{key}={}", encoded(&odd_text(dice)))),
            _ => {}
        }
    }
    match dice.roll(40) {
        0 => query.extend(query.first().cloned()),
        1 => query.push("colour=green".to_owned()),
        2 => query.push(
            dice.pick(&["limit=%ff", "=", "&&", "a[]=1", "limit", "cursor=e30", "cursor=WyJhIixbXV0"]).to_owned(),
        ),
        3 => path.push('/'),
        4 => path = path.replacen('/', "//", 1),
        _ => {}
    }
    (path, query.join("&"))
}

/// The content type and the bytes.
fn body(operation: &Operation<'_>, values: &Values<'_>, dice: &mut Dice) -> (String, Vec<u8>) {
    let contents = operation.value["requestBody"]["content"].as_object();
    let Some((kind, content)) = contents.and_then(|kinds| {
        let at = usize::try_from(dice.roll(kinds.len() as u64)).unwrap();
        kinds.iter().nth(at)
    }) else {
        let stray = if dice.one_in(20) { odd_value(dice).to_string() } else { String::new() };
        return (String::new(), stray.into_bytes());
    };
    let mut value = match content.get("example").filter(|_| dice.one_in(6)) {
        Some(example) => example.clone(),
        None => values.of(&content["schema"], dice, 0),
    };
    for _ in 0..dice.roll(3) {
        spoil(&mut value, dice);
    }
    // Lines are named in words alone, because the document has no schema for them.
    let takes_lines = operation.value["requestBody"]["description"].as_str().is_some_and(|text| text.contains(LINES));
    let is_lines = takes_lines && dice.one_in(2);
    let mut bytes = match &value {
        Value::Array(rows) if is_lines => rows.iter().map(|row| row.to_string() + "\n").collect::<String>(),
        other => other.to_string(),
    }
    .into_bytes();
    match dice.roll(30) {
        0 => bytes.truncate(bytes.len() / 2),
        1 => bytes.extend_from_slice(b"\xff\xfe"),
        2 => bytes = [b"\xef\xbb\xbf".to_vec(), bytes].concat(),
        3 => bytes.clear(),
        4 => bytes = "[".repeat(5_000).into_bytes(),
        5 => bytes = [bytes.clone(), b"\n\n".to_vec(), bytes].concat(),
        6 => bytes.extend(std::iter::repeat_n(b' ', 100_000)),
        // A key twice.
        7 if bytes.starts_with(b"{\"") => {
            let text = String::from_utf8(bytes).unwrap();
            let inner = text[1..text.len() - 1].to_owned();
            bytes = format!("{{{inner},{inner}}}").into_bytes();
        }
        _ => {}
    }
    let kind = if is_lines { LINES } else { kind.as_str() };
    let kind = if dice.one_in(20) { dice.pick(&KINDS) } else { kind };
    (kind.to_owned(), bytes)
}

fn odd_headers(dice: &mut Dice) -> Vec<(HeaderName, HeaderValue)> {
    const NAMES: [&str; 9] = [
        "if-match",
        "if-none-match",
        "accept",
        "accept-encoding",
        "range",
        "x-request-id",
        "if-modified-since",
        "expect",
        "x-forwarded-for",
    ];
    const VALUES: [&[u8]; 9] =
        [b"*", b"\"1-1\"", b"W/\"x\", \"y\"", b"gzip", b"bytes=0-1", b"", b"\xff\xfe", b",,,", b"identity;q=0, *;q=0"];
    if !dice.one_in(5) {
        return Vec::new();
    }
    let (name, value) = (*dice.item(&NAMES), *dice.item(&VALUES));
    HeaderValue::from_bytes(value).map(|value| vec![(HeaderName::from_static(name), value)]).unwrap_or_default()
}
