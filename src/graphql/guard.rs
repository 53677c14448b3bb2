//! Limits that a query meets before it is validated or run. Parser and validator recurse into what they read, variables
//! included, and expand fragments as often as they are spread, so all of it is bounded here first.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use async_graphql::Value as ConstValue;
use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{Context, Name, Positioned, SelectionField, Variables};

use crate::domain::reading::{INVALID_CHARACTER, NUL};
use crate::service::{Error, Result};

/// The longest query text.
pub const MAX_BYTES: usize = 256 * 1024;
/// Brackets inside brackets in the query text, arguments included.
pub const MAX_NESTING: usize = 48;
/// Fields inside fields; the introspection query of common clients has 15.
pub const MAX_DEPTH: usize = 16;
/// Fields of a query, with fragments written out.
pub const MAX_FIELDS: usize = 1_000;
/// Values of one answer: rows times the fields asked of each.
pub const MAX_VALUES: u64 = 250_000;
/// Rows that the fields of one query look at: with 100,000 users, twenty different lists of users.
pub const MAX_ROWS_READ: u64 = 2_000_000;

fn fault(code: &'static str, detail: String) -> Error {
    Error::invalid("/query", code, detail)
}

/// Refuses text whose nesting the recursive parser should not see.
pub fn check_text(query: &str) -> Result<()> {
    if query.len() > MAX_BYTES {
        return Err(fault("query_too_large", format!("a query has at most {MAX_BYTES} bytes")));
    }
    // As a variable it is refused where JSON is read.
    if query.contains("\\u0000") {
        return Err(Error::about("/query", INVALID_CHARACTER, NUL));
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

/// Refuses variables that nest deeper than the text may: the code that reads them recurses likewise.
pub fn check_variables(variables: &Variables) -> Result<()> {
    if variables.values().any(|value| nests(value, MAX_NESTING)) {
        let detail = format!("variables nest at most {MAX_NESTING} deep");
        return Err(Error::invalid("/variables", "query_too_deep", detail));
    }
    Ok(())
}

/// Whether there is more inside of each other than `most`.
fn nests(value: &ConstValue, most: usize) -> bool {
    let deeper = |inner: &ConstValue| most == 0 || nests(inner, most - 1);
    match value {
        ConstValue::List(items) => items.iter().any(deeper),
        ConstValue::Object(fields) => fields.values().any(deeper),
        _ => false,
    }
}

/// What follows the string that `text` starts with; an unclosed one ends with the text.
fn after_string(text: &[u8]) -> &[u8] {
    let block = text.starts_with(b"\"\"\"");
    let (mut at, end): (usize, &[u8]) = if block { (3, b"\"\"\"") } else { (1, b"\"") };
    while at < text.len() {
        if text[at..].starts_with(end) {
            return &text[at + end.len()..];
        }
        // A plain string cannot span lines: what follows is read as query again.
        if !block && text[at] == b'\n' {
            return &text[at..];
        }
        let escape = if block { text[at..].starts_with(b"\\\"\"\"") } else { text[at] == b'\\' };
        at += if escape { end.len() + 1 } else { 1 };
    }
    &[]
}

/// Fields that a selection stands for, and how deep they nest.
#[derive(Clone, Copy, Default)]
struct Extent {
    fields: usize,
    depth: usize,
    /// Like `depth`, but fragments count too.
    height: usize,
}

/// Refuses a document that is too large or too deep once its fragments are written out.
pub fn check_document(document: &ExecutableDocument) -> Result<()> {
    let mut measure = Measure { document, known: HashMap::new() };
    // Sorted, so that one document always gets one answer.
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

struct Measure<'a> {
    document: &'a ExecutableDocument,
    known: HashMap<&'a Name, Extent>,
}

impl<'a> Measure<'a> {
    /// `level` counts spreads and fields alike, so that fragments in a circle end.
    fn set(&mut self, set: &'a Positioned<SelectionSet>, level: usize) -> Result<Extent> {
        refuse_height(level)?;
        let mut sum = Extent::default();
        for selection in &set.node.items {
            let part = match &selection.node {
                Selection::Field(field) => {
                    let inner = self.set(&field.node.selection_set, level + 1)?;
                    Extent { fields: inner.fields + 1, depth: inner.depth + 1, height: inner.height + 1 }
                }
                Selection::InlineFragment(fragment) => {
                    let inner = self.set(&fragment.node.selection_set, level + 1)?;
                    Extent { height: inner.height + 1, ..inner }
                }
                Selection::FragmentSpread(spread) => {
                    let inner = self.fragment(&spread.node.fragment_name.node, level)?;
                    Extent { fields: inner.fields + 1, height: inner.height + 1, ..inner }
                }
            };
            sum = Extent {
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

    fn fragment(&mut self, name: &Name, level: usize) -> Result<Extent> {
        if let Some(extent) = self.known.get(name) {
            return Ok(*extent);
        }
        // The validator names a fragment that is missing.
        let Some((name, fragment)) = self.document.fragments.get_key_value(name) else { return Ok(Extent::default()) };
        let extent = self.set(&fragment.node.selection_set, level + 1)?;
        self.known.insert(name, extent);
        Ok(extent)
    }
}

/// The cost of a list that the database pages, in rows.
pub const DATABASE_LIST_ROWS: usize = 10_000;
/// The cost of a report, an explanation, a sequence or a simulation, in rows.
pub const REPORT_ROWS: usize = 100_000;

/// The values and rows that one request has used of its limits.
#[derive(Default)]
pub struct QueryBudget {
    values: AtomicU64,
    rows: AtomicU64,
}

/// Counts `rows` rows of the list that is being resolved, as part of the answer.
pub fn spend(ctx: &Context<'_>, rows: usize) -> Result<()> {
    let Some(budget) = ctx.data_opt::<QueryBudget>() else { return Ok(()) };
    let cost = width(&ctx.field()).saturating_mul(rows as u64);
    let spent = budget.values.fetch_add(cost, Ordering::Relaxed).saturating_add(cost);
    if spent > MAX_VALUES {
        let detail = format!("an answer has at most {MAX_VALUES} values; ask for fewer rows or fields");
        return Err(fault("query_too_complex", detail));
    }
    Ok(())
}

/// Counts `rows` rows that are looked at to resolve a field, whether they become part of the answer or not. A field that
/// looks at a whole group costs as many rows as the group has users.
pub fn charge_rows(ctx: &Context<'_>, rows: usize) -> Result<()> {
    let Some(budget) = ctx.data_opt::<QueryBudget>() else { return Ok(()) };
    let rows = rows as u64;
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

fn width(field: &SelectionField<'_>) -> u64 {
    field.selection_set().map(|inner| 1 + width(&inner)).sum()
}
