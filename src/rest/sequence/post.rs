//! `POST /resource-groups/{rg}/sequence`: pending workloads in the order in which they should start.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use super::view::{SequenceAnswer, write};
use crate::domain::slots::with_slot_name_source;
use crate::rest::extract::{PathParams, media_type, read, read_body};
use crate::rest::paths::GroupPath;
use crate::rest::problem::{Problem, Result};
use crate::rest::whole;
use crate::service::sequence::request::SequenceRequest;
use crate::service::{Caller, Error, Service};

/// Requests up to this length, in bytes, are answered on the current thread. That takes about a millisecond, less than
/// a busy machine takes to wake another thread. Longer ones, with up to hundreds of thousands of workloads, must not
/// hold up other requests.
const SHORT_BYTES: usize = 256 << 10;

/// Orders pending workloads from what the last run published; never waits for a run or a write.
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
    let source = caller.slot_name_source(&service.group(&caller, &path.rg)?.name);
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    let is_short = body.len() <= SHORT_BYTES && service.sequences_at_once(&caller, &path.rg);
    let work = move || {
        let request: SequenceRequest = with_slot_name_source(&source, || read(&body))?;
        let sequenced = service.sequence(&caller, &path.rg, request.into())?;
        let answer = write(&sequenced)?;
        let (group, at) = (sequenced.group.clone(), sequenced.at);
        drop(sequenced);
        service.remember_sequence(group, at, body);
        Ok::<_, Problem>(answer)
    };
    let answer = if is_short {
        work()
    } else {
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::failed("the order was not computed", e))?
    }?;
    Ok(whole::json(answer))
}
