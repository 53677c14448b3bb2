//! The limits that a query must meet before it is validated or executed. The parser and the validator are recursive,
//! for variables as well, and they expand a fragment each time it is used. Size and depth are therefore limited here
//! first.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use async_graphql::Value as ConstValue;
use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{Context, Name, Positioned, SelectionField, Variables};

use crate::domain::reading::{INVALID_CHARACTER, NUL_MESSAGE};
use crate::service::{Error, Result};

/// The longest query, in bytes.
pub const MAX_BYTES: usize = 256 * 1024;
/// The largest nesting of brackets in the text of a query, arguments included.
pub const MAX_NESTING: usize = 48;
/// The largest nesting of fields. The introspection query of common clients has 15.
pub const MAX_DEPTH: usize = 16;
/// The largest number of fields in a query, with fragments expanded.
pub const MAX_FIELDS: usize = 1_000;
/// The largest number of values in a response: rows times requested fields of each.
pub const MAX_VALUES: u64 = 250_000;
/// The largest number of rows that the fields of one query look at: twenty different lists of 100,000 users.
pub const MAX_ROWS_READ: u64 = 2_000_000;
/// The largest cost of one field, in rows, so that the dearest field of a large group has room for others beside it.
const FIELD_MAX_ROWS: u64 = MAX_ROWS_READ / 2;

fn fault(code: &'static str, detail: String) -> Error {
    Error::invalid("/query", code, detail)
}

/// Refuses text that is too long, or too deeply nested for the recursive parser.
pub fn check_text(query: &str) -> Result<()> {
    if query.len() > MAX_BYTES {
        return Err(fault("query_too_large", format!("a query has at most {MAX_BYTES} bytes")));
    }
    // In a variable the character is refused by the JSON reader.
    if query.contains("\\u0000") {
        return Err(Error::about("/query", INVALID_CHARACTER, NUL_MESSAGE));
    }
    let (mut depth, mut rest) = (0usize, query.as_bytes());
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match byte {
            b'"' => after_string(rest),
            b'#' => tail.iter().position(|b| matches!(b, b'\n' | b'\r')).map_or(&[][..], |at| &tail[at..]),
            _ => tail,
        };
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(fault("query_too_deep", format!("brackets nest at most {MAX_NESTING} deep")));
        }
    }
    Ok(())
}

/// Refuses variables that nest deeper than [`MAX_NESTING`], because the code that reads them is recursive, too.
pub fn check_variables(variables: &Variables) -> Result<()> {
    if variables.values().any(|value| is_nested_deeper(value, MAX_NESTING)) {
        let detail = format!("variables nest at most {MAX_NESTING} deep");
        return Err(Error::invalid("/variables", "query_too_deep", detail));
    }
    Ok(())
}

/// True if `value` is nested deeper than `most`.
fn is_nested_deeper(value: &ConstValue, most: usize) -> bool {
    let deeper = |inner: &ConstValue| most == 0 || is_nested_deeper(inner, most - 1);
    match value {
        ConstValue::List(items) => items.iter().any(deeper),
        ConstValue::Object(fields) => fields.values().any(deeper),
        _ => false,
    }
}

/// The text after the string at the beginning of `text`. A string without an end takes all of the text.
fn after_string(text: &[u8]) -> &[u8] {
    let block = text.starts_with(b"\"\"\"");
    let (mut at, end): (usize, &[u8]) = if block { (3, b"\"\"\"") } else { (1, b"\"") };
    while at < text.len() {
        if text[at..].starts_with(end) {
            return &text[at + end.len()..];
        }
        // A plain string ends with its line: the text after it is read as part of the query again.
        if !block && text[at] == b'\n' {
            return &text[at..];
        }
        let escape = if block { text[at..].starts_with(b"\\\"\"\"") } else { text[at] == b'\\' };
        at += if escape { end.len() + 1 } else { 1 };
    }
    &[]
}

/// The number and the depth of the fields of a selection, with fragments expanded.
#[derive(Clone, Copy, Default)]
struct SelectionExtent {
    fields: usize,
    depth: usize,
    /// Like `depth`, but with fragments counted as levels, too.
    height: usize,
}

/// Refuses a document that is too large or too deep with its fragments expanded.
pub fn check_document(document: &ExecutableDocument) -> Result<()> {
    let mut measure = SelectionMeasure { document, known: HashMap::new() };
    // In sorted order, so that a document always gets the same refusal.
    let fragments: BTreeSet<&Name> = document.fragments.keys().collect();
    let mut fields = 0;
    for name in fragments {
        fields += measure.fragment(name, 0)?.fields;
        refuse_width(fields)?;
    }
    for (_, operation) in document.operations.iter() {
        fields += measure.set(&operation.node.selection_set, 0)?.fields;
        refuse_width(fields)?;
    }
    Ok(())
}

fn refuse_width(fields: usize) -> Result<()> {
    if fields > MAX_FIELDS {
        return Err(fault("query_too_complex", format!("a query asks for at most {MAX_FIELDS} fields")));
    }
    Ok(())
}

fn refuse_depth(depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(fault("query_too_deep", format!("fields nest at most {MAX_DEPTH} deep")));
    }
    Ok(())
}

fn refuse_height(height: usize) -> Result<()> {
    if height > MAX_NESTING {
        return Err(fault("query_too_deep", "fragments nest too deep or in a circle".to_owned()));
    }
    Ok(())
}

struct SelectionMeasure<'a> {
    document: &'a ExecutableDocument,
    known: HashMap<&'a Name, SelectionExtent>,
}

impl<'a> SelectionMeasure<'a> {
    /// `level` counts fields and fragments, so that fragments that contain each other come to an end.
    fn set(&mut self, set: &'a Positioned<SelectionSet>, level: usize) -> Result<SelectionExtent> {
        refuse_height(level)?;
        let mut sum = SelectionExtent::default();
        for selection in &set.node.items {
            let part = match &selection.node {
                Selection::Field(field) => {
                    let inner = self.set(&field.node.selection_set, level + 1)?;
                    SelectionExtent { fields: inner.fields + 1, depth: inner.depth + 1, height: inner.height + 1 }
                }
                Selection::InlineFragment(fragment) => {
                    let inner = self.set(&fragment.node.selection_set, level + 1)?;
                    SelectionExtent { height: inner.height + 1, ..inner }
                }
                Selection::FragmentSpread(spread) => {
                    let inner = self.fragment(&spread.node.fragment_name.node, level)?;
                    SelectionExtent { fields: inner.fields + 1, height: inner.height + 1, ..inner }
                }
            };
            sum = SelectionExtent {
                fields: sum.fields + part.fields,
                depth: sum.depth.max(part.depth),
                height: sum.height.max(part.height),
            };
            refuse_width(sum.fields)?;
            refuse_depth(sum.depth)?;
            refuse_height(sum.height)?;
        }
        Ok(sum)
    }

    fn fragment(&mut self, name: &Name, level: usize) -> Result<SelectionExtent> {
        if let Some(extent) = self.known.get(name) {
            return Ok(*extent);
        }
        // The validator refuses a fragment that does not exist.
        let Some((name, fragment)) = self.document.fragments.get_key_value(name) else {
            return Ok(SelectionExtent::default());
        };
        let extent = self.set(&fragment.node.selection_set, level + 1)?;
        self.known.insert(name, extent);
        Ok(extent)
    }
}

/// The cost in rows of a list whose pages the database makes.
pub const DATABASE_LIST_ROWS: usize = 10_000;
/// The cost in rows of a report, an explanation, a sequence or a simulation.
pub const REPORT_ROWS: usize = 100_000;

/// The values and rows of one request so far, to compare with the limits.
#[derive(Default)]
pub struct QueryBudget {
    values: AtomicU64,
    rows: AtomicU64,
}

/// Counts `rows` rows of the list that is being resolved, each with its requested fields, towards [`MAX_VALUES`].
pub fn spend_rows(ctx: &Context<'_>, rows: usize) -> Result<()> {
    let Some(budget) = ctx.data_opt::<QueryBudget>() else { return Ok(()) };
    let cost = field_width(&ctx.field()).saturating_mul(rows as u64);
    let spent = budget.values.fetch_add(cost, Ordering::Relaxed).saturating_add(cost);
    if spent > MAX_VALUES {
        let detail = format!("an answer has at most {MAX_VALUES} values; ask for fewer rows or fields");
        return Err(fault("query_too_complex", detail));
    }
    Ok(())
}

/// Counts `rows` rows that are looked at to resolve a field towards [`MAX_ROWS_READ`], even if they are not in the
/// response. It is called before the work. A row is the work of about a microsecond, so that one request computes for a
/// few seconds at most. A field that looks at a whole group costs as many rows as the group has users, and one that takes
/// more time for each user costs a multiple.
pub fn charge_rows(ctx: &Context<'_>, rows: usize) -> Result<()> {
    let Some(budget) = ctx.data_opt::<QueryBudget>() else { return Ok(()) };
    let rows = (rows as u64).min(FIELD_MAX_ROWS);
    let looked_at = budget.rows.fetch_add(rows, Ordering::Relaxed).saturating_add(rows);
    if looked_at > MAX_ROWS_READ {
        let detail = format!(
            "the fields of a query look at {MAX_ROWS_READ} rows at most, and this one at more; ask for fewer lists, or \
             in several queries"
        );
        return Err(fault("query_too_complex", detail));
    }
    Ok(())
}

fn field_width(field: &SelectionField<'_>) -> u64 {
    field.selection_set().map(|inner| 1 + field_width(&inner)).sum()
}
