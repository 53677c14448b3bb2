//! A part of the endpoints. They are listed once, for two purposes: to answer requests, and to generate the document.

use axum::Router;
use axum::handler::Handler;
use utoipa::Path;
use utoipa::openapi::OpenApi;
use utoipa_axum::PathItemExt;

use super::state::ApiState;
use super::unknown_input::UnknownInputLayer;

/// A part of the endpoints.
pub struct EndpointPart {
    /// Makes the router. It makes no schemas, which a command does not need: all of them would take a tenth of its run
    /// time.
    pub answering: fn() -> AnsweringRouter,
    /// Makes the part of the document for these endpoints.
    pub declared: fn() -> OpenApi,
}

/// The router of endpoints, and their parameters for the check of requests.
#[derive(Default)]
pub struct AnsweringRouter {
    pub router: Router<ApiState>,
    pub takers: UnknownInputLayer,
}

impl AnsweringRouter {
    /// Adds the endpoint that `P` declares, with `handler`.
    pub fn with<P: Path, T: 'static>(mut self, handler: &impl Handler<T, ApiState>) -> Self {
        let (path, operation) = (P::path(), P::operation());
        for method in P::methods() {
            let method = method.to_method_filter();
            self.takers.note(&path, method, &operation);
            self.router = self.router.route(&path, axum::routing::on(method, handler.clone()));
        }
        self
    }
}

/// The [`EndpointPart`] of the endpoints in the given modules. Each module has a function `handle`, declared with
/// `utoipa::path`.
macro_rules! part {
    ($($($module:ident)::+),+ $(,)?) => {
        $crate::rest::part::EndpointPart {
            answering: || {
                $crate::rest::part::AnsweringRouter::default()
                    $(.with::<$($module::)+__path_handle, _>(&$($module::)+handle))+
            },
            declared: || {
                ::utoipa_axum::router::OpenApiRouter::<$crate::rest::state::ApiState>::new()
                    $(.routes(::utoipa_axum::routes!($($module::)+handle)))+
                    .into_openapi()
            },
        }
    };
}
pub(super) use part;
