//! The list of all endpoints.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower::ServiceBuilder;
use tower_http::timeout::RequestBodyTimeoutLayer;
use tower_http::validate_request::ValidateRequestHeaderLayer;

use super::part::{AnsweringRouter, EndpointPart, part};
use super::problem::Problem;
use super::state::{ApiState, RequestLimits};
use super::{
    agents, audit, audit_log, capacity_days, configuration, connectors, cycle, cycle_plans, decay_weights, division,
    doctor, domains, explain, fair_share_history, fair_share_simulations, fair_share_status, fair_share_weights,
    fairness, forecasts, health, job_runs, jobs, kernels, keys, metadata, metrics, occupancy, people_tree, projects,
    queues, reclaim, reclaim_plans, resource_groups, scheduler_options, sequence, shadow_report, usage_buckets,
    usage_gaps, usage_histories, usage_records, usage_report, users, whoami, workloads,
};
use crate::service::Service;
use crate::service::jobs::JobControl;

/// Endpoints with the usual limits of time and size.
pub(super) const USUAL_ENDPOINTS: EndpointPart = part![
    resource_groups::list,
    resource_groups::get,
    resource_groups::put,
    resource_groups::delete,
    scheduler_options::get,
    scheduler_options::patch,
    fair_share_weights::get,
    fair_share_weights::put,
    configuration::get,
    configuration::put,
    fair_share_status::get,
    fair_share_status::domains,
    fair_share_status::projects,
    fair_share_history::list,
    fairness::get,
    fairness::history,
    explain::get,
    decay_weights::get,
    agents::list,
    agents::put_many,
    agents::put,
    agents::delete,
    capacity_days::list,
    capacity_days::put,
    kernels::get,
    kernels::lookup,
    workloads::list,
    workloads::get,
    workloads::what_if,
    occupancy::get,
    forecasts::get,
    queues::list,
    queues::put_many,
    division::get,
    division::history,
    reclaim_plans::post,
    queues::get,
    queues::put,
    queues::delete,
    usage_buckets::list,
    usage_gaps::list,
    usage_records::list,
    usage_histories::list,
    usage_histories::put,
    usage_histories::delete,
    usage_report::get,
    usage_report::report_groups,
    connectors::list,
    connectors::put,
    connectors::delete,
    people_tree::get,
    people_tree::put,
    shadow_report::get,
    jobs::list,
    jobs::trust_clock,
    job_runs::list,
    audit_log::list,
    audit_log::undo,
    keys::list,
    keys::create,
    keys::revoke,
    domains::list,
    domains::get,
    domains::put,
    projects::list,
    projects::get,
    projects::put,
    users::list,
    users::get,
    users::put,
    whoami::get,
    doctor::get,
    metadata::get,
    health::live,
    health::ready,
    metrics::get,
];

/// Endpoints with large bodies. They have no time limit, but end if nothing of the body arrives for too long.
pub(super) const BULK_ENDPOINTS: EndpointPart = part![
    kernels::list,
    kernels::post,
    kernels::snapshot,
    sequence::post,
    fair_share_simulations::post,
    division::simulate,
    reclaim::simulate,
    cycle::simulate,
    cycle_plans::post,
];

/// Endpoints without a time limit.
pub(super) const UNTIMED_ENDPOINTS: EndpointPart = part![jobs::run, audit::get];

/// The endpoints with their limits, without a service yet. Keys and the form of refusals are the server's
/// responsibility.
pub struct LimitedEndpoints {
    router: Router<ApiState>,
    limits: RequestLimits,
}

impl LimitedEndpoints {
    /// The layers around an endpoint are put together into one, because the router clones each layer for each request.
    pub fn new(limits: RequestLimits) -> Self {
        let strict = |endpoints: &EndpointPart| {
            let AnsweringRouter { router, takers } = (endpoints.answering)();
            (router, ServiceBuilder::new().layer(ValidateRequestHeaderLayer::custom(takers)))
        };
        let small = DefaultBodyLimit::max(limits.body_bytes);
        let (prompt, around) = strict(&USUAL_ENDPOINTS);
        let prompt = prompt.layer(around.layer(small).layer(from_fn_with_state(limits, answer_in_time)));
        let (patient, around) = strict(&UNTIMED_ENDPOINTS);
        let patient = patient.layer(around.layer(small));
        let (bulk, around) = strict(&BULK_ENDPOINTS);
        let large = DefaultBodyLimit::max(limits.bulk_bytes);
        let bulk = bulk.layer(around.layer(large).layer(RequestBodyTimeoutLayer::new(limits.silence)));
        Self { router: prompt.merge(patient).merge(bulk), limits }
    }

    /// The endpoints with a service.
    pub fn over(self, service: Arc<Service>, jobs: Arc<dyn JobControl>) -> Router {
        let Self { router, limits } = self;
        router.with_state(ApiState { service, jobs, limits })
    }
}

/// Answers 503 if the response takes too long. A write that has begun is still completed.
pub async fn answer_in_time(State(limits): State<RequestLimits>, request: Request, next: Next) -> Response {
    let answering = tokio::time::timeout(limits.timeout, next.run(request));
    answering.await.unwrap_or_else(|_| Problem::timeout().into_response())
}
