//! Values as the text of an array in the form of `PostgreSQL` or of JSON.

use std::fmt::Write;

use sea_orm::{DbErr, Value};

use crate::store::Result;

/// The values as an array, such as `{1,NULL,3}`.
pub fn array_text(values: Vec<Value>) -> Result<String> {
    let mut text = String::from("{");
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        push_element(&mut text, value)?;
    }
    text.push('}');
    Ok(text)
}

/// False for null.
pub fn is_set(value: &Value) -> bool {
    !matches!(
        value,
        Value::Uuid(None)
            | Value::BigInt(None)
            | Value::Int(None)
            | Value::Bool(None)
            | Value::Double(None)
            | Value::String(None)
    )
}

pub fn push_element(array: &mut String, value: Value) -> Result<()> {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Uuid(Some(id)) => write!(array, "{}", id.simple()),
        Value::BigInt(Some(n)) => write!(array, "{n}"),
        Value::Int(Some(n)) => write!(array, "{n}"),
        Value::Bool(Some(b)) => write!(array, "{b}"),
        Value::Double(Some(d)) => write!(array, "{d:e}"),
        Value::String(Some(text)) => {
            push_quoted(array, &text);
            Ok(())
        }
        unset if !is_set(&unset) => {
            array.push_str("NULL");
            Ok(())
        }
        other => return Err(DbErr::Type(format!("no bulk insert of {other:?}")).into()),
    };
    Ok(())
}

fn push_quoted(array: &mut String, text: &str) {
    array.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        array.push_str(&rest[..at]);
        array.push('\\');
        array.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    array.push_str(rest);
    array.push('"');
}
