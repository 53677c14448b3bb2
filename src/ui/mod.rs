//! The web pages: their files, which are part of the program, and the endpoint for signing in.

mod files;
mod pages;
mod session;
mod site;

use std::sync::Arc;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};

pub use session::session_of;
pub use site::{PublicSite, PublicUrl};

use crate::service::Service;

/// The state that the handlers share.
#[derive(Clone)]
struct PagesState {
    service: Arc<Service>,
    site: PublicSite,
}

/// The router for all paths below `/ui`.
pub fn router(service: Arc<Service>, site: PublicSite) -> Router {
    Router::new()
        .route("/ui", get(|| async { Redirect::temporary("ui/") }))
        .route("/ui/", get(pages::page))
        .route("/ui/{*path}", get(pages::file))
        .route("/ui/session", post(session::open).delete(session::close))
        .with_state(PagesState { service, site })
}
