//! `POST /resource-groups/{rg}/sequence`: pending workloads in the order in which they should start.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use memchr::memmem;

use super::view::SequenceAnswer;
use crate::domain::slots::{SlotNameSource, with_slot_name_source};
use crate::rest::extract::{PathParams, json_text, media_type, read, read_body, written};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::sequence::pending::ReportedWorkloads;
use crate::service::sequence::request::SequenceRequest;
use crate::service::{Caller, Error, Service};

/// Requests up to this length, in bytes, are answered on the current thread. That takes about a millisecond, less than
/// a busy machine takes to wake another thread. Longer ones, with up to hundreds of thousands of workloads, must not
/// hold up other requests.
const SHORT_BYTES: usize = 256 << 10;

/// Orders pending workloads from what the last run published; never waits for a run or a write. Without `workloads`, or without a
/// body, it orders the reported workloads that wait.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/sequence", operation_id = "post_sequence", tag = "Sequencing",
    params(GroupPath), request_body = SequenceRequest, responses((status = 200, body = SequenceAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    request: Request,
) -> Result<Response> {
    caller.require_scheduler()?;
    // New slot names are counted for an existing group only, not for one that a request invents.
    let group = service.group(&caller, &path.rg)?;
    let source = caller.slot_name_source(&group.name);
    let kind = media_type(request.headers(), &["application/json"]);
    let body = read_body(request).await?;
    if !body.is_empty() {
        kind?;
    }
    let is_short = body.len() <= SHORT_BYTES && service.sequences_at_once(&caller, &path.rg);
    let reported = if names_workloads(&body) { None } else { Some(service.reported_workloads(&group).await?) };
    let work = move || order(&service, &caller, &path.rg, (&source, body), reported);
    let answer = if is_short {
        work()
    } else {
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::failed("the order was not computed", e))?
    }?;
    Ok(written(Ok(answer)))
}

/// False for a body without the key `workloads`. The text is only searched, because parsing it twice would take long.
fn names_workloads(body: &[u8]) -> bool {
    memmem::find(body, br#""workloads""#).is_some()
}

/// The answer for the workloads of the request, or for those that were reported.
fn order(
    service: &Service,
    caller: &Caller,
    group: &str,
    (source, body): (&SlotNameSource, Bytes),
    reported: Option<ReportedWorkloads>,
) -> Result<Bytes> {
    let request: SequenceRequest =
        if body.is_empty() { SequenceRequest::default() } else { with_slot_name_source(source, || read(&body))? };
    let Some(reported) = reported else {
        if request.workloads.is_none() {
            return Err(Error::about("/workloads", "missing_field", "is missing").into());
        }
        let sequenced = service.sequence(caller, group, request.into())?;
        let answer = json_text(&SequenceAnswer::of(&sequenced))?;
        let (group, at) = (sequenced.group.clone(), sequenced.at);
        drop(sequenced);
        service.remember_sequence(group, at, body);
        return Ok(answer);
    };
    let sequenced = service.sequence(caller, group, reported.fill(request.into()))?;
    Ok(json_text(&SequenceAnswer::of(&sequenced))?)
}
