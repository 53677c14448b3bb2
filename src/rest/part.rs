//! A part of the endpoints, listed once and read twice: to answer requests, and to declare what they answer.

use axum::Router;
use axum::handler::Handler;
use utoipa::Path;
use utoipa::openapi::OpenApi;
use utoipa_axum::PathItemExt;

use super::state::ApiState;
use super::undeclared::Takers;

/// Some of the endpoints.
pub struct Part {
    /// Makes what answers them. It makes no schemas: a command needs none, and all of them take a tenth of its time.
    pub answering: fn() -> Answering,
    /// Makes the part of the document that declares them.
    pub declared: fn() -> OpenApi,
}

/// What answers endpoints, and what they take.
#[derive(Default)]
pub struct Answering {
    pub router: Router<ApiState>,
    pub takers: Takers,
}

impl Answering {
    /// Answers with `handler` what `P` declares.
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

/// The [`Part`] of endpoints that are given by their modules. Each module has a function `handle` that says with `utoipa::path` what
/// it answers.
macro_rules! part {
    ($($($module:ident)::+),+ $(,)?) => {
        $crate::rest::part::Part {
            answering: || {
                $crate::rest::part::Answering::default()
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
