use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::{Extension, Json};
use futures::StreamExt;
use serde_json::value::RawValue;

use super::batches::{Batches, Counting};
use super::view::{IngestAnswer, KernelsBody};
use crate::rest::extract::{PathParams, is_silence, is_too_deep, media_type, read, read_body, too_deep};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::incoming::KernelInput;
use crate::service::{Caller, Error, Service, detached};

const NDJSON: &str = "application/x-ndjson";
/// The longest line of a stream.
const MAX_LINE: usize = 1 << 20;

/// Takes kernels: a JSON array, one object, or a stream of lines. Idempotent by `kernel_id`, in any
/// order, any number of times; good items are kept, each bad one gets a row in the answer.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/kernels", operation_id = "post_kernels", tag = "Kernels",
    params(GroupPath),
    request_body(content(
        (KernelsBody = "application/json", example = json!([{
            "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "session_id": "8e2f4a6b-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
            "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f",
            "domain_name": "research", "occupied_slots": {"cpu": "4", "mem": "17179869184", "cuda.device": "1"},
            "status": "RUNNING", "started_at": "2026-01-13T10:00:00Z"
        }])),
        (KernelInput = "application/x-ndjson")
    )),
    responses((status = 200, body = IngestAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    request: Request,
) -> Result<Json<IngestAnswer>> {
    let streamed = media_type(request.headers(), &["application/json", NDJSON])? == NDJSON;
    let counting = if streamed { Counting::Line } else { Counting::Index };
    let batches = Batches::new(service, caller, path.rg, counting)?;
    // Whoever hangs up half-way still leaves a whole number of batches and an audit entry.
    let answer = if streamed {
        let body = request.into_body();
        detached(take_lines(batches, body)).await?
    } else {
        let bytes = read_body(request, &()).await?;
        detached(take_rows(batches, split(&bytes)?)).await?
    };
    Ok(Json(answer))
}

/// Where each row lies in the body.
fn split(bytes: &Bytes) -> Result<Vec<Bytes>> {
    if is_too_deep(bytes) {
        return Err(too_deep().into());
    }
    let is_object = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    let rows: Vec<&RawValue> = if is_object { vec![read(bytes)?] } else { read(bytes)? };
    Ok(rows.into_iter().map(|row| bytes.slice_ref(row.get().as_bytes())).collect())
}

async fn take_rows(mut batches: Batches, rows: Vec<Bytes>) -> std::result::Result<IngestAnswer, Error> {
    let mut outcome = Ok(());
    for (place, row) in (0..).zip(&rows) {
        outcome = batches.row(place, row).await;
        if outcome.is_err() {
            break;
        }
    }
    batches.finish(outcome).await
}

async fn take_lines(mut batches: Batches, body: Body) -> std::result::Result<IngestAnswer, Error> {
    let outcome = read_lines(&mut batches, body).await;
    batches.finish(outcome).await
}

async fn read_lines(batches: &mut Batches, body: Body) -> std::result::Result<(), Error> {
    let mut chunks = body.into_data_stream();
    let mut line = Vec::new();
    let (mut number, mut too_long) = (1, false);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| broken_off(&error, number))?;
        let mut parts = chunk.split(|b| *b == b'\n').peekable();
        while let Some(part) = parts.next() {
            too_long |= line.len() + part.len() > MAX_LINE;
            if too_long {
                line.clear();
            } else {
                line.extend_from_slice(part);
            }
            if parts.peek().is_some() {
                end_line(batches, number, &line, too_long).await?;
                line.clear();
                (number, too_long) = (number + 1, false);
            }
        }
    }
    end_line(batches, number, &line, too_long).await
}

/// A stream that ends before its end, in that line.
fn broken_off(error: &axum::Error, number: u64) -> Error {
    if is_silence(error) {
        return Error::TimedOut(format!("nothing came for too long in line {number}; the lines before it were taken"));
    }
    let detail = format!("the stream broke off in line {number}; the lines before it were taken");
    Error::Malformed { code: "incomplete_body", detail }
}

async fn end_line(batches: &mut Batches, number: u64, line: &[u8], too_long: bool) -> std::result::Result<(), Error> {
    if too_long {
        batches.reject_unread(number, "too_large", "the line is longer than 1 MiB");
        return Ok(());
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    batches.row(number, line).await
}
