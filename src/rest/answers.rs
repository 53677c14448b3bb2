//! The trait of everything that answers requests.

use std::convert::Infallible;

use axum::extract::Request;
use axum::response::Response;
use tower::Service;

/// An endpoint, with or without layers around it. It is always ready, and answers every request. A layer is a function
/// from one `EndpointService` to another: axum's own middleware would clone everything inside it, and box a future, for each
/// request.
pub trait EndpointService<R = Response>:
    Service<Request, Response = R, Error = Infallible, Future: Send + 'static> + Clone + Send + Sync + 'static
{
}

impl<R, S> EndpointService<R> for S where
    S: Service<Request, Response = R, Error = Infallible, Future: Send + 'static> + Clone + Send + Sync + 'static
{
}
