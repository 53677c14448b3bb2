//! Lists of endpoints. They are requested and written page by page, so that they may be larger than memory.

use std::io::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::{EndpointCall, no_json};
use super::failure::CommandFailure;
use super::output::{OutputFormat, RowWriter, stdout};
use crate::service::input::page::MAX_PAGE;

/// A page as an endpoint returns it.
#[derive(Deserialize)]
struct EndpointPage<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
    next_cursor: Option<String>,
    #[serde(default)]
    total: u64,
    /// Only in rankings.
    #[serde(borrow, default, deserialize_with = "present_value")]
    calculated_at: Option<&'a RawValue>,
    /// The totals of reports, over the rows of all pages.
    #[serde(borrow, default, deserialize_with = "present_value")]
    totals: Option<&'a RawValue>,
}

/// A value that is present, `null` included.
fn present_value<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A list of an endpoint.
pub struct EndpointList {
    call: EndpointCall,
    /// The largest number of rows; `None` for all.
    limit: Option<u64>,
    /// True if the endpoint returns all rows at once unless pages are requested.
    is_whole: bool,
}

impl EndpointList {
    /// The list of `call`, or its first `limit` rows.
    pub fn of(call: EndpointCall, limit: Option<u64>) -> Self {
        Self { call, limit, is_whole: false }
    }

    /// The list of an endpoint that returns all rows at once.
    pub fn whole(call: EndpointCall) -> Self {
        Self { call, limit: None, is_whole: true }
    }

    /// Writes the list. JSON is in the form of the endpoint's answers, with the rows of all pages in one answer.
    pub async fn print(self, format: OutputFormat, columns: &'static [&'static str]) -> Result<(), CommandFailure> {
        if format == OutputFormat::Json {
            return self.print_json().await;
        }
        let mut rows: Option<RowWriter> = None;
        self.each_page(|_, page, _| {
            // The heading is written only now, because only now it is certain that there is an answer.
            let rows = match &mut rows {
                Some(rows) => rows,
                none => none.insert(RowWriter::start(format, columns)?),
            };
            page.items.iter().try_for_each(|row| rows.add(row))
        })
        .await?;
        rows.map_or(Ok(()), RowWriter::finish)
    }

    /// All rows.
    pub async fn rows(self) -> Result<Vec<Value>, CommandFailure> {
        self.read().await
    }

    /// All rows, and the totals of a report.
    pub async fn rows_and_totals(self) -> Result<(Vec<Value>, Value), CommandFailure> {
        let mut totals = Value::Null;
        let rows = self.read_with(|page| {
            if let Some(text) = page.totals {
                totals = serde_json::from_str(text.get()).map_err(|_| no_json())?;
            }
            Ok(())
        });
        Ok((rows.await?, totals))
    }

    /// All rows, each as a `T`.
    pub async fn read<T: DeserializeOwned>(self) -> Result<Vec<T>, CommandFailure> {
        self.read_with(|_| Ok(())).await
    }

    /// All rows. `note` gets each page.
    async fn read_with<T: DeserializeOwned>(
        self,
        mut note: impl FnMut(&EndpointPage) -> Result<(), CommandFailure>,
    ) -> Result<Vec<T>, CommandFailure> {
        let mut rows = Vec::new();
        self.each_page(|_, page, _| {
            note(page)?;
            let read = page.items.iter().map(|row| serde_json::from_str(row.get()));
            rows.extend(read.collect::<Result<Vec<T>, _>>().map_err(|_| no_json())?);
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    async fn print_json(self) -> Result<(), CommandFailure> {
        let mut out = stdout();
        let mut count = 0;
        self.each_page(|bytes, page, is_last| {
            if count == 0 && is_last {
                out.write_all(bytes)?;
                return Ok(writeln!(out)?);
            }
            if count == 0 {
                out.write_all(b"{\"items\":[")?;
            }
            for row in &page.items {
                write!(out, "{}{}", if count == 0 { "" } else { "," }, row.get())?;
                count += 1;
            }
            if is_last {
                out.write_all(b"]")?;
                if let Some(cursor) = &page.next_cursor {
                    write!(out, ",\"next_cursor\":{}", Value::from(cursor.as_str()))?;
                }
                write!(out, ",\"total\":{}", page.total)?;
                if let Some(at) = page.calculated_at {
                    write!(out, ",\"calculated_at\":{at}")?;
                }
                if let Some(totals) = page.totals {
                    write!(out, ",\"totals\":{totals}")?;
                }
                writeln!(out, "}}")?;
            }
            Ok(())
        })
        .await?;
        Ok(out.flush()?)
    }

    /// Passes every page to `take`: its bytes, its content, and true if it is the last.
    async fn each_page(
        self,
        mut take: impl FnMut(&[u8], &EndpointPage, bool) -> Result<(), CommandFailure>,
    ) -> Result<(), CommandFailure> {
        if self.is_whole {
            let bytes = self.call.bytes().await?;
            return take(&bytes, &read_page(&bytes)?, true);
        }
        let (mut left, mut cursor) = (self.limit.unwrap_or(u64::MAX), None::<String>);
        loop {
            let bytes = self.call.page(left.min(MAX_PAGE.into()), cursor.as_deref()).bytes().await?;
            let page = read_page(&bytes)?;
            left -= left.min(page.items.len() as u64);
            let is_last = left == 0 || page.next_cursor.is_none();
            take(&bytes, &page, is_last)?;
            if is_last {
                return Ok(());
            }
            cursor.clone_from(&page.next_cursor);
        }
    }
}

fn read_page(bytes: &[u8]) -> Result<EndpointPage<'_>, CommandFailure> {
    Ok(serde_json::from_slice(bytes).map_err(|_| no_json())?)
}
