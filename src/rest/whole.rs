//! Responses with a very large number of rows, which are serialised on all cores.

use std::convert::Infallible;
use std::ops::Range;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;

use super::extract::json_text;
use crate::domain::parallel;
use crate::service::input::error::Error;

/// The text before and after the rows.
pub struct JsonEnvelope<'a> {
    pub before: &'a [u8],
    pub after: &'a [u8],
}

impl JsonEnvelope<'_> {
    /// The response with `count` rows. Each part of it has a writer of its own, which appends the row at an index.
    /// `bytes` is the approximate size of a row.
    pub fn rows<W: FnMut(usize, &mut Vec<u8>) -> serde_json::Result<()>>(
        &self,
        count: usize,
        bytes: usize,
        writer: impl Fn() -> W + Sync,
    ) -> Result<Body, Error> {
        let part = |part: Range<usize>| {
            let mut write = writer();
            let mut out = Vec::with_capacity(part.len() * bytes + self.before.len() + self.after.len());
            if part.start == 0 {
                out.extend_from_slice(self.before);
            }
            let is_last = part.end == count;
            for at in part {
                if at > 0 {
                    out.push(b',');
                }
                write(at, &mut out)?;
            }
            if is_last {
                out.extend_from_slice(self.after);
            }
            Ok(out)
        };
        let parts = parallel::parts(count, part).into_iter().collect::<Result<_, _>>();
        parts.map(body).map_err(|e: serde_json::Error| Error::failed("the answer was not written", e))
    }
}

fn body(parts: Vec<Vec<u8>>) -> Body {
    match <[Vec<u8>; 1]>::try_from(parts) {
        Ok([one]) => one.into(),
        Err(parts) => Body::from_stream(stream::iter(parts.into_iter().map(Bytes::from).map(Ok::<_, Infallible>))),
    }
}

/// The response `view` with each row converted by `of`. `view` must end with a [`super::list::List::without_rows`].
pub fn list<T: Sync, V: Serialize>(
    view: &impl Serialize,
    rows: &[T],
    of: impl Fn(&T) -> V + Sync,
) -> Result<Response, Error> {
    const ITEMS: &[u8] = b"\"items\":[";
    let view = json_text(view)?;
    let begin = view.windows(ITEMS.len()).rposition(|at| at == ITEMS).map_or(view.len(), |at| at + ITEMS.len());
    let (before, after) = view.split_at(begin);
    let body =
        JsonEnvelope { before, after }.rows(rows.len(), 0, || |at, out| serde_json::to_writer(out, &of(&rows[at])))?;
    Ok(json(body))
}

pub fn json(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
