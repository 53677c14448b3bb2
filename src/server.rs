//! One HTTP server out of the interfaces: their routers, and the layers around all of them.

mod access;
mod body_account;
mod connections;
mod cors;
mod door;
mod encodings;
mod key_limits;
mod layers;
mod limits;
mod new_groups;
mod pace;
mod request_runtime;
mod slot_name_sources;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Redirect;
use axum::routing::{Route, get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use tower::layer::layer_fn;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub use connections::serve_behind;
pub use door::Door;
pub use key_limits::KeyQuotas;
pub use limits::ConnectionLimits;

use self::access::Gate;
use self::key_limits::KeyLimits;
use crate::graphql;
use crate::rest::{self, Endpoints, Limits};
use crate::service::Service;
use crate::service::jobs::JobControl;
use crate::ui::{self, Site};

/// Where the OpenAPI document is.
const DOCUMENT: &str = "/openapi.json";

/// What the server is made of.
#[derive(Clone)]
pub struct App {
    pub service: Arc<Service>,
    pub jobs: Arc<dyn JobControl>,
    pub limits: Limits,
    pub key_quotas: KeyQuotas,
    pub site: Site,
    /// Other servers whose pages may use the API from a browser.
    pub cors_origins: Vec<HeaderValue>,
}

impl App {
    pub fn new(service: Arc<Service>, jobs: Arc<dyn JobControl>) -> Self {
        Self {
            service,
            jobs,
            limits: Limits::default(),
            key_quotas: KeyQuotas::default(),
            site: Site::default(),
            cors_origins: Vec::new(),
        }
    }
}

/// Every path of the server.
pub fn router(app: App) -> Router {
    let App { service, jobs, limits, key_quotas, site, cors_origins } = app;
    let key_limits = Arc::new(KeyLimits::new(key_quotas));
    let gate = Gate { service: Arc::clone(&service), site: site.clone(), key_limits };
    rest::metrics::describe();
    let docs = SwaggerUi::new("/docs").config(Config::from(DOCUMENT));
    let graphql = graphql::router(graphql::schema(Arc::clone(&service), Arc::clone(&jobs)), Arc::clone(&service))
        .layer(rest::in_time(limits))
        .layer(DefaultBodyLimit::max(limits.body_bytes));
    let pages = ui::router(Arc::clone(&service), site).layer(rest::in_time(limits));
    // Together they are one layer of the router, which makes copies of each one for each request.
    let around = ServiceBuilder::new()
        .layer(layer_fn(layers::identify))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        // Outside of the keys, because a browser asks beforehand without one, and its page may see why a key was refused.
        .option_layer(cors::layer(&cors_origins))
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(layer_fn(move |route: Route| {
            let counted = slot_name_sources::count_slot_names(Arc::clone(&gate.service), route);
            let in_known_groups = new_groups::look_for_new_groups(Arc::clone(&gate.service), counted);
            access::authenticate(gate.clone(), encodings::refuse_encoded_bodies(in_known_groups))
        }));
    Endpoints::new(limits)
        .over(service, jobs)
        .merge(graphql)
        .merge(docs)
        .merge(pages)
        .route(DOCUMENT, get(rest::openapi_document))
        .route("/", get(front_page))
        .layer(around)
}

/// People with a browser see the web pages, programs the documentation. The first address is relative, so that it is right
/// behind a proxy that adds a path.
async fn front_page(headers: HeaderMap) -> Redirect {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/html") { Redirect::temporary("ui/") } else { Redirect::temporary("/docs/") }
}

/// The endpoints of REST for this process alone: `actor` asks as an admin, without a key.
pub fn internal_router(endpoints: Endpoints, app: App, actor: &str) -> Router {
    let actor = Arc::<str>::from(actor);
    endpoints.over(app.service, app.jobs).fallback(|| async { StatusCode::NOT_FOUND }).layer(
        ServiceBuilder::new()
            .layer(layer_fn(layers::identify))
            .layer(CatchPanicLayer::custom(layers::panicked))
            .layer(layer_fn(move |route: Route| access::trust(Arc::clone(&actor), route))),
    )
}

/// Serves until `shutdown`, then lets the requests in progress end.
pub async fn serve(app: App, listener: TcpListener, shutdown: CancellationToken) {
    serve_behind(Door::opened(router(app)), listener, ConnectionLimits::default(), shutdown).await;
}
