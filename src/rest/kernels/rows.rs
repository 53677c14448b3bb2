//! Reads the rows of kernels from a body: the elements of an array, one object, or lines. Only the current row is kept
//! in memory.

use axum::body::{BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures::StreamExt;
use memchr::memchr;
use serde_json::value::RawValue;

use super::batches::{IngestBatches, PresentKernels};
use super::row_counting::RowCounting;
use crate::api::kernels::IngestAnswer;
use crate::rest::extract::{ArrayElement, ArrayElements, is_silence, read};
use crate::service::input::json::{BYTE_ORDER_MARK, without_mark};
use crate::service::{Error, Result};

/// The longest row, in bytes.
const MAX_ROW: usize = 1 << 20;
/// Takes all rows of the request's body. If a stream of lines breaks off, all complete lines are kept; of an array, the
/// batches that have been sent are.
pub async fn take_rows(
    batches: IngestBatches,
    request: Request,
    most_bytes: usize,
) -> Result<(IngestAnswer, PresentKernels)> {
    let mut batches = batches.expecting(length(request.headers()).unwrap_or(0));
    let mut pieces = BodyPieces::new(request.into_body().into_data_stream());
    let most = MAX_ROW.min(most_bytes);
    let outcome = match batches.counting() {
        RowCounting::Line => take_lines(&mut batches, &mut pieces, most).await,
        RowCounting::Index => match take_document(&mut batches, &mut pieces, most).await {
            Ok(()) => Ok(()),
            Err(error) => Err(batches.discard(error)),
        },
    };
    batches.finish(outcome).await
}

/// The length of the body in bytes, if the client has sent it.
fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The pieces of a body, without the byte order mark at the beginning.
struct BodyPieces {
    stream: BodyDataStream,
    is_begun: bool,
}

impl BodyPieces {
    fn new(stream: BodyDataStream) -> Self {
        Self { stream, is_begun: false }
    }

    async fn next(&mut self) -> Result<Option<Bytes>> {
        let piece = self.read().await?;
        if std::mem::replace(&mut self.is_begun, true) {
            return Ok(piece);
        }
        let Some(mut first) = piece else { return Ok(None) };
        // The mark itself may be split.
        while first.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&first) {
            let Some(more) = self.read().await? else { break };
            first = [first, more].concat().into();
        }
        let mark = first.len() - without_mark(&first).len();
        Ok(Some(first.slice(mark..)))
    }

    async fn read(&mut self) -> Result<Option<Bytes>> {
        let Some(piece) = self.stream.next().await else { return Ok(None) };
        piece.map(Some).map_err(|error| {
            if is_silence(&error) {
                return Error::TimedOut("nothing of the body came for too long".to_owned());
            }
            Error::Malformed { code: "incomplete_body", detail: "the body ended early".to_owned() }
        })
    }
}

/// Takes the elements of an array, or one object.
async fn take_document(batches: &mut IngestBatches, pieces: &mut BodyPieces, most: usize) -> Result<()> {
    let too_large = || Error::TooLarge(format!("a kernel takes at most {most} bytes"));
    let mut array: Option<ArrayElements> = None;
    // A body that is not an array is read as a whole. White space before it counts towards the limit.
    let (mut document, mut place, mut space) = (Vec::new(), 0, 0);
    while let Some(piece) = pieces.next().await? {
        let mut rest = &*piece;
        if array.is_none() {
            if document.is_empty() {
                rest = rest.trim_ascii_start();
                space += piece.len() - rest.len();
            }
            if let Some((b'[', elements)) = rest.split_first().filter(|_| document.is_empty()) {
                array = Some(ArrayElements::new(most));
                rest = elements;
            } else {
                document.extend_from_slice(rest);
            }
            if document.len() + space > most {
                return Err(too_large());
            }
        }
        let Some(elements) = &mut array else { continue };
        while let Some(element) = elements.next(&mut rest)? {
            match element {
                ArrayElement::Whole(bytes) => batches.element(place, bytes).await?,
                ArrayElement::TooLong => batches.reject_unread(place, "too_large", "the element is longer than 1 MiB"),
            }
            place += 1;
        }
    }
    match array {
        Some(elements) => Ok(elements.finish()?),
        None if document.first() == Some(&b'{') => {
            let object: &RawValue = read(&document)?;
            batches.element(0, object.get().as_bytes()).await
        }
        // Neither an array nor an object: reading it as an array gives the error.
        None => Ok(read::<Vec<&RawValue>>(&document).map(|_| ())?),
    }
}

async fn take_lines(batches: &mut IngestBatches, pieces: &mut BodyPieces, most: usize) -> Result<()> {
    let mut line = Vec::new();
    let (mut number, mut too_long) = (1, false);
    while let Some(piece) = pieces.next().await.map_err(|error| in_line(error, number))? {
        let mut rest = &*piece;
        loop {
            let end = memchr(b'\n', rest);
            let part = &rest[..end.unwrap_or(rest.len())];
            too_long |= line.len() + part.len() > most;
            if too_long {
                line.clear();
            } else {
                line.extend_from_slice(part);
            }
            let Some(end) = end else { break };
            end_line(batches, number, &line, too_long).await?;
            line.clear();
            (number, too_long) = (number + 1, false);
            rest = &rest[end + 1..];
        }
    }
    end_line(batches, number, &line, too_long).await
}

/// Adds the number of the line to an error of a stream that broke off.
fn in_line(error: Error, number: u64) -> Error {
    match error {
        Error::TimedOut(_) => {
            Error::TimedOut(format!("nothing came for too long in line {number}; the lines before it were taken"))
        }
        Error::Malformed { code, .. } => {
            let detail = format!("the stream broke off in line {number}; the lines before it were taken");
            Error::Malformed { code, detail }
        }
        other => other,
    }
}

async fn end_line(batches: &mut IngestBatches, number: u64, line: &[u8], too_long: bool) -> Result<()> {
    if too_long {
        batches.reject_unread(number, "too_large", "the line is longer than 1 MiB");
        return Ok(());
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    batches.row(number, line).await
}
