//! The HTTP server: the routers of REST, GraphQL, the documentation and the web pages in one router, and the layers
//! around it.

mod access;
mod answer_budget;
mod authenticators;
mod body_account;
mod connection_clock;
mod connections;
mod cors;
mod encodings;
mod key_limits;
mod layers;
mod limits;
mod new_groups;
mod request_runtime;
mod slot_name_sources;
mod startup_router;
mod watched_body;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub use connections::serve_router;
pub use key_limits::KeyQuotas;
pub use limits::ConnectionLimits;
pub use startup_router::StartupRouter;

use self::access::AccessCheck;
use self::authenticators::authenticators;
use self::key_limits::KeyLimits;
use crate::graphql;
use crate::rest::{self, LimitedEndpoints, RequestLimits};
use crate::service::Service;
use crate::service::jobs::JobControl;
use crate::ui::{self, PublicSite};

/// The path of the OpenAPI document.
const DOCUMENT_PATH: &str = "/openapi.json";

/// The parts and settings of the server.
#[derive(Clone)]
pub struct ServerApp {
    pub service: Arc<Service>,
    pub jobs: Arc<dyn JobControl>,
    pub limits: RequestLimits,
    pub key_quotas: KeyQuotas,
    pub site: PublicSite,
    /// The origins of pages of other servers that may use the API from a browser.
    pub cors_origins: Vec<HeaderValue>,
}

impl ServerApp {
    pub fn new(service: Arc<Service>, jobs: Arc<dyn JobControl>) -> Self {
        Self {
            service,
            jobs,
            limits: RequestLimits::default(),
            key_quotas: KeyQuotas::default(),
            site: PublicSite::default(),
            cors_origins: Vec::new(),
        }
    }
}

/// The router with all paths of the server.
pub fn router(app: ServerApp) -> Router {
    let ServerApp { service, jobs, limits, key_quotas, site, cors_origins } = app;
    let key_limits = Arc::new(KeyLimits::new(key_quotas));
    let authenticators = authenticators(&service, site.clone());
    let access_check =
        AccessCheck { service: Arc::clone(&service), authenticators, key_limits, answers: Arc::default() };
    rest::metrics::describe();
    let docs = SwaggerUi::new("/docs").config(Config::from(DOCUMENT_PATH));
    let graphql = graphql::router(graphql::schema(Arc::clone(&service), Arc::clone(&jobs)), Arc::clone(&service))
        .layer(from_fn_with_state(limits, rest::answer_in_time))
        .layer(DefaultBodyLimit::max(limits.body_bytes));
    let pages = ui::router(Arc::clone(&service), site).layer(from_fn_with_state(limits, rest::answer_in_time));
    // Together they are one layer of the router, because the router clones each of its layers for each request.
    let around = ServiceBuilder::new()
        .layer(from_fn(layers::identify))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        // Outside of the check of keys: a browser sends its preflight request without a key, and the page must be able
        // to read why its key was refused.
        .option_layer(cors::layer(&cors_origins))
        .layer(CatchPanicLayer::custom(layers::panic_response))
        .layer(from_fn_with_state(access_check, access::check_access))
        .layer(from_fn(encodings::refuse_encoded_bodies))
        .layer(from_fn_with_state(Arc::clone(&service), new_groups::look_for_new_groups))
        .layer(from_fn_with_state(Arc::clone(&service), slot_name_sources::count_slot_names));
    LimitedEndpoints::new(limits)
        .over(service, jobs)
        .merge(graphql)
        .merge(docs)
        .merge(pages)
        .route(DOCUMENT_PATH, get(rest::openapi_document))
        .route("/", get(front_page))
        .layer(around)
}

/// Sends browsers to the web pages and programs to the documentation. The first address is relative, so that it is also
/// right behind a proxy that adds a path.
async fn front_page(headers: HeaderMap) -> Redirect {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/html") { Redirect::temporary("ui/") } else { Redirect::temporary("/docs/") }
}

/// The REST endpoints for use within this process. Each request is one of `actor` with the rights of an admin, and
/// needs no key.
pub fn internal_router(endpoints: LimitedEndpoints, app: ServerApp, actor: &str) -> Router {
    let actor = Arc::<str>::from(actor);
    endpoints.over(app.service, app.jobs).fallback(|| async { StatusCode::NOT_FOUND }).layer(
        ServiceBuilder::new()
            .layer(from_fn(layers::identify))
            .layer(CatchPanicLayer::custom(layers::panic_response))
            .layer(from_fn_with_state(actor, access::trust_caller)),
    )
}

/// Serves until `shutdown` is cancelled, then waits for the requests in progress.
pub async fn run_server(app: ServerApp, listener: TcpListener, shutdown: CancellationToken) {
    serve_router(StartupRouter::opened(router(app)), listener, ConnectionLimits::default(), shutdown).await;
}
