//! `POST /resource-groups/{rg}/sequence`: pending workloads in the order in which they should start.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use memchr::memmem;

use super::view::SequenceAnswer;
use crate::api::sequence::SequenceRequest;
use crate::domain::slots::{SlotNameSource, with_slot_name_source};
use crate::rest::extract::{PathParams, json_response, json_text, media_type, read, read_body};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::sequence::is_ordered_at_once;
use crate::service::sequence::pending::{LiveKernelList, ReportedWorkloads};
use crate::service::visible_group::VisibleGroup;
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
    caller.require_reporter()?;
    // New slot names are counted for an existing group only, not for one that a request invents.
    let group = service.group(&caller, &path.rg)?;
    let source = caller.slot_name_source(&group.name);
    let kind = media_type(request.headers(), &["application/json"]);
    let body = read_body(request).await?;
    if !body.is_empty() {
        kind?;
    }
    // Reported workloads are ordered if the request has none.
    let kernels = if names_workloads(&body) { None } else { Some(service.reported_kernels(&group).await?) };
    let is_short = body.len() <= SHORT_BYTES && is_ordered_at_once(&group, kernels.as_ref());
    let work = move || order(&service, &caller, group, (&source, body), kernels);
    let answer = if is_short {
        work()
    } else {
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::failed("the order was not computed", e))?
    }?;
    Ok(json_response(Ok(answer)))
}

/// False for a body without the key `workloads`. The text is only searched, because parsing it twice would take long; a key
/// that is written with escapes is found when the body is parsed. Only a key has a colon behind it: a workload may have the same
/// text as its id.
fn names_workloads(body: &[u8]) -> bool {
    const KEY: &[u8] = br#""workloads""#;
    let is_key = |at: usize| body[at + KEY.len()..].trim_ascii_start().starts_with(b":");
    memmem::find_iter(body, KEY).any(is_key)
}

/// The answer for the workloads of the request, or for those that were reported.
fn order(
    service: &Arc<Service>,
    caller: &Caller,
    group: VisibleGroup,
    (source, body): (&SlotNameSource, Bytes),
    kernels: Option<LiveKernelList>,
) -> Result<Bytes> {
    let request: SequenceRequest =
        if body.is_empty() { SequenceRequest::default() } else { with_slot_name_source(source, || read(&body))? };
    let has_workloads = request.workloads.is_some();
    if request.forecast {
        service.read_forecasts_soon(&group);
    }
    let input = match kernels {
        _ if has_workloads => request.into(),
        Some(kernels) => ReportedWorkloads::of(&group, &kernels).fill(request.into()),
        None => return Err(Error::about("/workloads", "missing_field", "is missing").into()),
    };
    let sequenced = service.sequence_in(caller, group, input)?;
    let answer = json_text(&SequenceAnswer::of(&sequenced))?;
    if has_workloads {
        let (group, at) = (sequenced.group.clone(), sequenced.at);
        drop(sequenced);
        service.remember_sequence(group, at, body);
    }
    Ok(answer)
}
