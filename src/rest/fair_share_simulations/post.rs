//! `POST /resource-groups/{rg}/fair-share-simulations`: applies changes to a copy of the group.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::rest::extract::{PathParams, json_answer, media_type, read_body};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::what_if::answer::SimulatedFairShares;
use crate::service::what_if::request::FairShareSimulation;
use crate::service::{Caller, Service};

/// Tries changes of weights, options, capacity and people on a copy of the group, with the code that makes them. With `apply`
/// the changes are made then: weights, options and domains of projects, in one transaction with one entry in the audit log.
#[utoipa::path(
    post, path = "/resource-groups/{rg}/fair-share-simulations", operation_id = "simulate_fair_shares", tag = "Fair share",
    params(GroupPath), request_body = FairShareSimulation,
    responses(
        (status = 200, body = SimulatedFairShares),
        (status = 409, description = "The configuration has changed since `if_revision`.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    request: Request,
) -> Result<Response> {
    caller.require_reader()?;
    media_type(request.headers(), &["application/json"])?;
    let body = read_body(request).await?;
    let what_if = service.simulate_fair_shares(caller, path.rg, body).await?;
    Ok(json_answer(&what_if.into_answer())?)
}
