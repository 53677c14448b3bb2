//! Answers that hold all rows of a long list.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;

use crate::domain::parallel;
use crate::service::input::error::Error;

/// The answer `view`, whose list is [`List::without_rows`], with what `of` makes of each row, written on all cores.
pub fn answer<T: Sync, V: Serialize>(
    view: &impl Serialize,
    rows: &[T],
    of: impl Fn(&T) -> V + Sync,
) -> Result<Response, Error> {
    const BEGIN: &[u8] = b"\"items\":[";
    let unwritten = |e| Error::failed("the answer was not written", e);
    let around = serde_json::to_vec(view).map_err(unwritten)?;
    // The list is the last of the view.
    let begin = around.windows(BEGIN.len()).rposition(|at| at == BEGIN).map_or(around.len(), |at| at + BEGIN.len());
    let (before, after) = around.split_at(begin);
    let written = parallel::parts(rows, |part| {
        let mut bytes = Vec::new();
        for (at, row) in part.iter().enumerate() {
            if at > 0 {
                bytes.push(b',');
            }
            serde_json::to_writer(&mut bytes, &of(row))?;
        }
        Ok(Bytes::from(bytes))
    });
    let written: Vec<Bytes> = written.into_iter().collect::<Result<_, _>>().map_err(unwritten)?;
    let mut pieces = vec![Bytes::copy_from_slice(before)];
    for (at, part) in written.into_iter().enumerate() {
        if at > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(part);
    }
    pieces.push(Bytes::copy_from_slice(after));
    let body = Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}
