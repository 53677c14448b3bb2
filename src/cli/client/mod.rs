//! The client of a command. It sends requests to the server of the settings, or to the same endpoints in this process over a
//! local database.

mod local;

use std::convert::Infallible;

use axum::body::Body;
use axum::http::Request;
use tower::{ServiceExt, service_fn};

pub use local::{close, system_user};

use super::failure::CommandFailure;
pub use crate::api::client::{
    ApiClient, ClientFailure, EndpointCall, EndpointRefusal, HttpAnswer, JSON_MEDIA_TYPE, no_json,
};
use crate::config::Config;
use crate::engine::work::spawn_use_case;
use crate::rest::LimitedEndpoints;
use crate::server::{ServerApp, internal_router};

/// The client of the server in the settings, or of the database in the settings, which must exist.
pub async fn open_client(config: &Config) -> Result<ApiClient, CommandFailure> {
    if let Some(server) = &config.server {
        return Ok(ApiClient::connect(server, config.key.as_deref(), config.ca_file.as_deref())?);
    }
    // The endpoints are built while the database is read.
    let endpoints = spawn_use_case(async { Ok(LimitedEndpoints::new(local::UNLIMITED_REQUESTS)) });
    let app = local::open(config).await?;
    Ok(over_endpoints(endpoints.await?, app, &local::actor()))
}

/// [`open_client`], but creates the database if it does not exist.
pub async fn open_new_client(config: &Config) -> Result<ApiClient, CommandFailure> {
    if config.server.is_none() {
        local::create_database(config).await?;
    }
    open_client(config).await
}

/// The client of endpoints in this process. `actor` is the caller's name in the audit log.
pub fn in_process_client(app: ServerApp, actor: &str) -> ApiClient {
    over_endpoints(LimitedEndpoints::new(app.limits), app, actor)
}

fn over_endpoints(endpoints: LimitedEndpoints, app: ServerApp, actor: &str) -> ApiClient {
    let router = internal_router(endpoints, app, actor);
    ApiClient::in_process(service_fn(move |request: Request<Body>| {
        let router = router.clone();
        async move { Ok(router.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {})) }
    }))
}
