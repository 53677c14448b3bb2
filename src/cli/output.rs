//! Writes rows as a table, JSON or CSV. A row is an object of the REST API; its keys are the columns.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::{Args, ValueEnum};
use comfy_table::Table;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::HttpAnswer;
use super::failure::{CommandFailure, eprint_line};
use super::text_table::TextTable;

#[derive(Args, Clone, Copy)]
pub struct OutputArgs {
    /// Form of the output; json is what the REST API answers, ndjson its rows
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    Table,
    Json,
    /// One JSON document a line
    Ndjson,
    Csv,
}

/// Standard output, buffered.
pub fn stdout() -> Out {
    BufWriter::new(io::stdout().lock())
}

/// Writes `text` and a line end.
pub fn print(text: &str) -> Result<(), CommandFailure> {
    let mut out = stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Writes the answer of an endpoint as it arrives, and a line end.
pub async fn print_answer(answer: HttpAnswer) -> Result<(), CommandFailure> {
    let mut out = stdout();
    answer.write(&mut out).await?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Writes the answer of an endpoint, and a line end.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CommandFailure> {
    let mut out = stdout();
    out.write_all(bytes)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Writes one JSON value in readable form.
pub fn print_json(value: &impl Serialize) -> Result<(), CommandFailure> {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Converts a value to JSON, as in an answer of an endpoint.
pub fn as_json(value: &impl Serialize) -> Result<Value, CommandFailure> {
    Ok(serde_json::to_value(value).map_err(io::Error::from)?)
}

/// Writes the warnings of an answer to standard error.
pub fn warn(answer: &Value) {
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        let text = |key: &str| warning[key].as_str();
        let place: Vec<&str> = [text("queue"), text("slot")].into_iter().flatten().collect();
        let colon = if place.is_empty() { "" } else { ": " };
        let more = more_places(warning);
        eprint_line(&format!("warning: {}{colon}{}{more}", place.join(", "), text("detail").unwrap_or_default()));
    }
}

/// [`warn`] for an answer whose other keys may be very long.
pub fn warn_of(answer: &[u8]) {
    #[derive(Deserialize)]
    struct DoubtfulText {
        #[serde(default)]
        warnings: Value,
    }
    if let Ok(DoubtfulText { warnings }) = serde_json::from_slice(answer) {
        warn(&json!({"warnings": warnings}));
    }
}

/// The number of places of a warning, and the first one, if there are several.
fn more_places(warning: &Value) -> String {
    let count = warning["count"].as_u64().or(warning["kernels"].as_u64()).unwrap_or(1);
    let first = match (warning["line"].as_u64(), warning["index"].as_u64(), warning["pointer"].as_str()) {
        (Some(line), ..) => format!("line {line}"),
        (None, Some(index), _) => format!("element {index}"),
        (None, None, Some(pointer)) => pointer.to_owned(),
        (None, None, None) => return String::new(),
    };
    if count > 1 { format!(" (in {count} places, first at {first})") } else { String::new() }
}

/// A list that is written row by row, so that it may be larger than memory.
pub struct RowWriter {
    columns: Vec<String>,
    sink: RowSink,
    count: u64,
}

type Out = BufWriter<StdoutLock<'static>>;

enum RowSink {
    Table(TextTable),
    Json(Out),
    Ndjson(Out),
    Csv(Box<csv::Writer<Out>>),
}

impl RowWriter {
    /// Starts a list with these columns in tables and CSV. JSON rows keep all their keys.
    pub fn start(format: OutputFormat, columns: &[&str]) -> Result<Self, CommandFailure> {
        let sink = match format {
            OutputFormat::Table => RowSink::Table(TextTable::new(columns)),
            OutputFormat::Json => {
                let mut out = stdout();
                write!(out, "{{\"items\":[")?;
                RowSink::Json(out)
            }
            OutputFormat::Ndjson => RowSink::Ndjson(stdout()),
            OutputFormat::Csv => {
                let mut writer = csv::Writer::from_writer(stdout());
                writer
                    .write_record(columns.iter().map(|column| harmless_cell((*column).to_owned())))
                    .map_err(csv_error)?;
                RowSink::Csv(Box::new(writer))
            }
        };
        Ok(Self { columns: columns.iter().map(|column| (*column).to_owned()).collect(), sink, count: 0 })
    }

    pub fn add(&mut self, row: &impl Serialize) -> Result<(), CommandFailure> {
        match &mut self.sink {
            RowSink::Table(table) => {
                table.add(row_cells(row, &self.columns)?);
            }
            RowSink::Json(out) => {
                out.write_all(if self.count == 0 { b"" } else { b"," })?;
                serde_json::to_writer(out, row).map_err(io::Error::from)?;
            }
            RowSink::Ndjson(out) => {
                serde_json::to_writer(&mut *out, row).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            RowSink::Csv(writer) => {
                writer
                    .write_record(row_cells(row, &self.columns)?.into_iter().map(harmless_cell))
                    .map_err(csv_error)?;
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Ends a complete list. In JSON it is a page without a next one.
    pub fn finish(self) -> Result<(), CommandFailure> {
        match self.sink {
            RowSink::Table(table) => print(&table.to_text(terminal_width())),
            RowSink::Json(mut out) => {
                writeln!(out, "],\"total\":{}}}", self.count)?;
                Ok(out.flush()?)
            }
            RowSink::Ndjson(mut out) => Ok(out.flush()?),
            RowSink::Csv(mut writer) => Ok(writer.flush()?),
        }
    }
}

/// Writes the answer of an endpoint about one object: in tables and CSV a row for each key.
pub async fn print_object(answer: HttpAnswer, format: OutputFormat) -> Result<(), CommandFailure> {
    if format == OutputFormat::Json {
        return print_answer(answer).await;
    }
    let object: Value = answer.json().await?;
    if format == OutputFormat::Ndjson {
        return print(&object.to_string());
    }
    let lines = object.as_object().into_iter().flatten().map(|(key, value)| json!({"key": key, "value": value}));
    print_list(format, &["key", "value"], lines)
}

/// Writes a complete list.
pub fn print_list<T: Serialize>(
    format: OutputFormat,
    columns: &[&str],
    rows: impl IntoIterator<Item = T>,
) -> Result<(), CommandFailure> {
    let mut list = RowWriter::start(format, columns)?;
    for row in rows {
        list.add(&row)?;
    }
    list.finish()
}

/// The first characters of what spreadsheets take for a formula.
const FORMULA_STARTS: [char; 10] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\t', '\r'];

/// A cell of CSV that no spreadsheet executes. Spreadsheets take a text that begins with `=`, `+`, `-`, `@`, a tab or a
/// carriage return for a formula, and reports contain names that users have chosen. Such a text gets an apostrophe in
/// front, and so does one with their full-width forms. Numbers stay as they are. `ui/src/lib/csv.ts` has the same rule for the web pages.
fn harmless_cell(cell: String) -> String {
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    if cell.starts_with(FORMULA_STARTS) && !is_number() { format!("'{cell}") } else { cell }
}

/// Converts an error of writing CSV. A closed output keeps its kind.
fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A number that the server has sent as text.
pub fn parse_figure(value: &Value) -> f64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// A share as a percentage.
pub fn percent_text(value: &Value) -> String {
    format!("{:.2}%", 100.0 * parse_figure(value))
}

/// A share as a percentage, or null if it is not known.
pub fn known_percent(value: &Value) -> Value {
    value.is_string().then(|| percent_text(value)).into()
}

/// The width of the terminal in columns; `None` if standard output is not a terminal.
pub fn terminal_width() -> Option<usize> {
    if io::stdout().is_terminal() { Table::new().width().map(usize::from) } else { None }
}

/// Shortens names so that their columns have at most the width `room` together. The widest name is shortened first. The
/// middle is cut out, because long names usually differ at their ends.
pub fn fit(rows: &mut [Vec<String>], room: usize) {
    let mut widths = vec![0; rows.first().map_or(0, Vec::len)];
    for row in &*rows {
        for (width, name) in widths.iter_mut().zip(row) {
            *width = name.chars().count().max(*width);
        }
    }
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { return };
        *widest -= 1;
    }
    for row in rows {
        for (width, name) in widths.iter().zip(row) {
            let length = name.chars().count();
            if length > *width {
                let kept = width.saturating_sub(1);
                let (head, tail) = (kept.div_ceil(2), kept / 2);
                let end = name.chars().skip(length - tail);
                *name = name.chars().take(head).chain(['\u{2026}']).chain(end).collect();
            }
        }
    }
}

/// The cells of `row`: texts without quotes, absent values empty.
fn row_cells(row: &impl Serialize, columns: &[String]) -> Result<Vec<String>, CommandFailure> {
    let value = serde_json::to_value(row).map_err(io::Error::from)?;
    let cell = |column: &String| match value.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Ok(columns.iter().map(cell).collect())
}
