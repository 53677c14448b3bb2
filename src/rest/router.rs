//! Every endpoint there is.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::response::IntoResponse;
use axum::routing::Route;
use tower::layer::layer_fn;
use tower::{Layer, Service as _, ServiceBuilder, service_fn};
use tower_http::timeout::RequestBodyTimeoutLayer;
use tower_http::validate_request::ValidateRequestHeaderLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answers::Answers;
use super::problem::Problem;
use super::state::{ApiState, Limits};
use super::undeclared::Takers;
use super::{
    agents, audit, audit_log, capacity_days, configuration, division, domains, explain, fair_share_history,
    fair_share_simulations, fair_share_status, fair_share_weights, fairness, health, job_runs, jobs, kernels, keys,
    metrics, projects, queues, reclaim, reclaim_plans, resource_groups, scheduler_options, sequence, usage_buckets,
    usage_gaps, usage_histories, usage_records, usage_report, users, whoami,
};
use crate::service::Service;
use crate::service::jobs::JobControl;

/// Endpoints that answer within the time limit.
pub(super) fn prompt() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(resource_groups::list::handle))
        .routes(routes!(resource_groups::get::handle, resource_groups::put::handle, resource_groups::delete::handle))
        .routes(routes!(scheduler_options::get::handle, scheduler_options::patch::handle))
        .routes(routes!(fair_share_weights::get::handle, fair_share_weights::put::handle))
        .routes(routes!(configuration::get::handle, configuration::put::handle))
        .routes(routes!(fair_share_status::get::handle))
        .routes(routes!(fair_share_status::domains::handle))
        .routes(routes!(fair_share_status::projects::handle))
        .routes(routes!(fair_share_history::list::handle))
        .routes(routes!(fairness::get::handle))
        .routes(routes!(fairness::history::handle))
        .routes(routes!(explain::get::handle))
        .routes(routes!(agents::list::handle, agents::put_many::handle))
        .routes(routes!(agents::put::handle, agents::delete::handle))
        .routes(routes!(capacity_days::list::handle, capacity_days::put::handle))
        .routes(routes!(kernels::get::handle))
        .routes(routes!(kernels::lookup::handle))
        .routes(routes!(queues::list::handle, queues::put_many::handle))
        .routes(routes!(division::get::handle))
        .routes(routes!(division::history::handle))
        .routes(routes!(reclaim_plans::post::handle))
        .routes(routes!(queues::get::handle, queues::put::handle, queues::delete::handle))
        .routes(routes!(usage_buckets::list::handle))
        .routes(routes!(usage_gaps::list::handle))
        .routes(routes!(usage_records::list::handle))
        .routes(routes!(usage_histories::list::handle))
        .routes(routes!(usage_histories::put::handle, usage_histories::delete::handle))
        .routes(routes!(usage_report::get::handle))
        .routes(routes!(usage_report::several::handle))
        .routes(routes!(jobs::list::handle))
        .routes(routes!(jobs::trust_clock::handle))
        .routes(routes!(job_runs::list::handle))
        .routes(routes!(audit_log::list::handle))
        .routes(routes!(audit_log::undo::handle))
        .routes(routes!(keys::list::handle, keys::create::handle))
        .routes(routes!(keys::revoke::handle))
        .routes(routes!(domains::list::handle))
        .routes(routes!(domains::get::handle, domains::put::handle))
        .routes(routes!(projects::list::handle))
        .routes(routes!(projects::get::handle, projects::put::handle))
        .routes(routes!(users::list::handle))
        .routes(routes!(users::get::handle, users::put::handle))
        .routes(routes!(whoami::get::handle))
        .routes(routes!(health::live::handle))
        .routes(routes!(health::ready::handle))
        .routes(routes!(metrics::get::handle))
}

/// Endpoints with bodies as large as a cluster.
pub(super) fn bulk() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(kernels::list::handle, kernels::post::handle))
        .routes(routes!(kernels::snapshot::handle))
        .routes(routes!(sequence::post::handle))
        .routes(routes!(fair_share_simulations::post::handle))
        .routes(routes!(division::simulate::handle))
        .routes(routes!(reclaim::simulate::handle))
}

/// Endpoints that take as long as they take.
pub(super) fn patient() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(jobs::run::handle)).routes(routes!(audit::get::handle))
}

/// The endpoints with their limits, before there is anything that answers. Who may ask, and how refusals look, is the server's
/// business.
pub struct Endpoints {
    router: Router<ApiState>,
    limits: Limits,
}

impl Endpoints {
    /// What is around an endpoint is one layer of the router, which makes copies of each one for each request.
    pub fn new(limits: Limits) -> Self {
        let strict = |endpoints: OpenApiRouter<ApiState>| {
            let (router, api) = endpoints.split_for_parts();
            (router, ServiceBuilder::new().layer(ValidateRequestHeaderLayer::custom(Takers::of(&api))))
        };
        let small = DefaultBodyLimit::max(limits.body_bytes);
        let (prompt, around) = strict(prompt());
        let prompt = prompt.layer(around.layer(small).layer(in_time(limits)));
        let (patient, around) = strict(patient());
        let patient = patient.layer(around.layer(small));
        let (bulk, around) = strict(bulk());
        let large = DefaultBodyLimit::max(limits.bulk_bytes);
        let bulk = bulk.layer(around.layer(large).layer(RequestBodyTimeoutLayer::new(limits.silence)));
        Self { router: prompt.merge(patient).merge(bulk), limits }
    }

    /// The endpoints that the service answers.
    pub fn over(self, service: Arc<Service>, jobs: Arc<dyn JobControl>) -> Router {
        let Self { router, limits } = self;
        router.with_state(ApiState { service, jobs, limits })
    }
}

/// Gives up on an answer that takes too long; a write that has begun still ends.
pub fn in_time(limits: Limits) -> impl Layer<Route, Service = impl Answers> + Clone + Send + Sync + 'static {
    layer_fn(move |mut inner: Route| {
        service_fn(move |request: Request| {
            let answering = tokio::time::timeout(limits.timeout, inner.call(request));
            async move { answering.await.unwrap_or_else(|_| Ok(Problem::timeout().into_response())) }
        })
    })
}
