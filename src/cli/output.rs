//! Rows as a table, JSON or CSV. A row is what the REST API answers: its keys are the columns.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::{Args, ValueEnum};
use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::Value;

use super::failure::{Failure, eprint_line};
use crate::domain::division::Warning;
use crate::service::group::warnings::OptionWarning;
use crate::service::input::page::{MAX_PAGE, Page, Window};
use crate::service::{Error, PublishedGroup};

#[derive(Args, Clone, Copy)]
pub struct OutputArgs {
    /// Form of the output; json is what the REST API answers
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Json,
    Csv,
}

/// Standard output, buffered.
pub fn stdout() -> Out {
    BufWriter::new(io::stdout().lock())
}

/// Writes `text` and a line end.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Writes one JSON value, readable.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Says on standard error what a person should look at.
pub fn warn(warnings: &[Warning]) {
    for Warning { queue, slot, detail, .. } in warnings {
        let place: Vec<&str> = queue.as_deref().into_iter().chain(*slot).collect();
        let colon = if place.is_empty() { "" } else { ": " };
        eprint_line(&format!("warning: {}{colon}{detail}", place.join(", ")));
    }
}

/// Says on standard error what looks like a mistake in a group's options.
pub fn warn_of_options(group: &PublishedGroup) {
    for OptionWarning { detail, .. } in group.warnings() {
        eprint_line(&format!("warning: {detail}"));
    }
}

/// A list that is written row by row, so that it may be longer than memory.
pub struct Rows {
    columns: &'static [&'static str],
    sink: Sink,
    count: u64,
}

type Out = BufWriter<StdoutLock<'static>>;

enum Sink {
    Table(Box<Table>),
    Json(Out),
    Csv(Box<csv::Writer<Out>>),
}

impl Rows {
    /// A list with these columns in tables and CSV; JSON rows keep all their keys.
    pub fn start(format: Format, columns: &'static [&'static str]) -> Result<Self, Failure> {
        let sink = match format {
            Format::Table => Sink::Table(Box::new(table(columns))),
            Format::Json => {
                let mut out = stdout();
                write!(out, "{{\"items\": [")?;
                Sink::Json(out)
            }
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(stdout());
                writer.write_record(columns).map_err(written)?;
                Sink::Csv(Box::new(writer))
            }
        };
        Ok(Self { columns, sink, count: 0 })
    }

    pub fn add(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        match &mut self.sink {
            Sink::Table(table) => {
                table.add_row(cells(row, self.columns)?);
            }
            Sink::Json(out) => {
                write!(out, "{}\n  ", if self.count == 0 { "" } else { "," })?;
                serde_json::to_writer(out, row).map_err(io::Error::from)?;
            }
            Sink::Csv(writer) => writer.write_record(cells(row, self.columns)?).map_err(written)?,
        }
        self.count += 1;
        Ok(())
    }

    /// Ends a list that is whole: in JSON, a page without a next one.
    pub fn finish(self) -> Result<(), Failure> {
        match self.sink {
            Sink::Table(table) => print(&table.trim_fmt()),
            Sink::Json(mut out) => {
                let end = if self.count == 0 { "" } else { "\n" };
                writeln!(out, "{end}], \"total\": {}}}", self.count)?;
                Ok(out.flush()?)
            }
            Sink::Csv(mut writer) => Ok(writer.flush()?),
        }
    }
}

/// Writes a list that comes in pages, page by page.
pub async fn print_pages<T, V: Serialize>(
    format: Format,
    columns: &'static [&'static str],
    mut page: impl AsyncFnMut(Window) -> Result<Page<T>, Error>,
    view: impl Fn(T) -> V,
) -> Result<(), Failure> {
    let mut rows: Option<Rows> = None;
    let mut after = None;
    loop {
        let found = page(Window::forward(MAX_PAGE, after)).await?;
        // Only now is it sure that there is something to answer.
        let out = match &mut rows {
            Some(rows) => rows,
            none => none.insert(Rows::start(format, columns)?),
        };
        after = found.rows.last().filter(|_| found.has_next).map(|(cursor, _)| cursor.clone());
        for (_, row) in found.rows {
            out.add(&view(row))?;
        }
        if after.is_none() {
            break;
        }
    }
    rows.map_or(Ok(()), Rows::finish)
}

/// Writes a whole list.
pub fn print_list<T: Serialize>(
    format: Format,
    columns: &'static [&'static str],
    rows: impl IntoIterator<Item = T>,
) -> Result<(), Failure> {
    let mut list = Rows::start(format, columns)?;
    for row in rows {
        list.add(&row)?;
    }
    list.finish()
}

fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(columns.iter().map(|c| heading(c)));
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

fn heading(column: &str) -> Cell {
    let cell = Cell::new(column.replace('_', " ").to_uppercase());
    if is_plain() { cell } else { cell.add_attribute(Attribute::Bold) }
}

/// Whether the person at the terminal wants none of its colours and weights (no-color.org).
fn is_plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Why a row of CSV was not written; a reader that has gone is known by the kind of the error.
fn written(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Cuts names so that the columns that they stand in have at most `room` together: always the widest gives way.
pub fn fit<'a, const N: usize>(rows: impl Iterator<Item = &'a mut [String; N]>, room: usize) {
    let mut rows: Vec<&mut [String; N]> = rows.collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, name) in widths.iter_mut().zip(row.iter()) {
            *width = name.chars().count().max(*width);
        }
    }
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { return };
        *widest -= 1;
    }
    for row in &mut rows {
        for (width, name) in widths.iter().zip(row.iter_mut()) {
            if name.chars().count() > *width {
                *name = name.chars().take(width.saturating_sub(1)).chain(['\u{2026}']).collect();
            }
        }
    }
}

/// The cells of `row`: texts as they are, absent values empty.
fn cells(row: &impl Serialize, columns: &[&str]) -> Result<Vec<String>, Failure> {
    let value = serde_json::to_value(row).map_err(io::Error::from)?;
    let cell = |column: &&str| match value.get(*column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Ok(columns.iter().map(cell).collect())
}
