//! Writes YAML that means the same in YAML 1.1 and YAML 1.2.
//!
//! Many programs read YAML 1.1, where `no` is a truth value, `012` is ten, `12:30:00` is a number of seconds and
//! `2026-01-13` is a day. The library quotes only what YAML 1.2 would misread. Here a text is plain only if it is a
//! plain word in both editions, and every other text is quoted, so that a name is always read back as the same name.

use std::fmt::Write;

use serde_norway::Value;

/// Words that YAML 1.1 reads as truth values or null, in lower case; upper case is read in the same way.
const RESERVED_WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
/// Marks that are allowed inside a plain word.
const PLAIN_MARKS: [char; 6] = ['-', '_', '.', '/', '@', '+'];

/// Writes a value as block YAML, with a line end after its last line.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Mapping(map) if !map.is_empty() => write_entries(value, 0, &mut out),
        Value::Sequence(items) if !items.is_empty() => write_entries(value, 0, &mut out),
        scalar => {
            write_scalar(scalar, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Writes the entries of a map or list that is not empty, with at least one line for each.
fn write_entries(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Mapping(map) => {
            for (key, value) in map {
                out.extend(std::iter::repeat_n(' ', indent));
                write_scalar(key, out);
                out.push(':');
                // The marks of a list have the same indentation as its key.
                write_value(value, indent, if value.is_sequence() { indent } else { indent + 2 }, out);
            }
        }
        Value::Sequence(items) => {
            for item in items {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push('-');
                if is_block(item) {
                    let mut entries = String::new();
                    write_entries(item, indent + 2, &mut entries);
                    out.push(' ');
                    out.push_str(entries.trim_start_matches(' '));
                } else {
                    write_value(item, indent, indent, out);
                }
            }
        }
        Value::Tagged(tagged) => write_entries(&tagged.value, indent, out),
        scalar => write_scalar(scalar, out),
    }
}

fn write_value(value: &Value, indent: usize, inner: usize, out: &mut String) {
    if is_block(value) {
        out.push('\n');
        write_entries(value, inner.max(indent), out);
    } else {
        out.push(' ');
        write_scalar(value, out);
        out.push('\n');
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Mapping(map) => !map.is_empty(),
        Value::Sequence(items) => !items.is_empty(),
        Value::Tagged(tagged) => is_block(&tagged.value),
        _ => false,
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => write_text(text, out),
        Value::Sequence(_) => out.push_str("[]"),
        Value::Mapping(_) => out.push_str("{}"),
        Value::Tagged(tagged) => write_scalar(&tagged.value, out),
    }
}

fn write_text(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
    } else if text.chars().all(is_printable) {
        let _ = write!(out, "'{}'", text.replace('\'', "''"));
    } else {
        write_escaped(text, out);
    }
}

/// True for a text that every reader takes as a text: it begins with a letter, so it is no number, day or time.
fn is_plain(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || PLAIN_MARKS.contains(&c) || c == ' ';
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(is_inner)
        && !RESERVED_WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// True for a character that may stand between single quotes in both editions.
fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn write_escaped(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
        }
    }
    out.push('"');
}
