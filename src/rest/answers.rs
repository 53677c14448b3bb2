//! What answers requests.

use std::convert::Infallible;

use axum::extract::Request;
use axum::response::Response;
use tower::Service;

/// An endpoint, with or without layers around it. It is always ready, and every request gets an answer. A layer is a function
/// from one to the next: axum's own middleware would put a copy of all that is inside, and a future, on the heap for each request.
pub trait Answers<R = Response>:
    Service<Request, Response = R, Error = Infallible, Future: Send + 'static> + Clone + Send + Sync + 'static
{
}

impl<R, S> Answers<R> for S where
    S: Service<Request, Response = R, Error = Infallible, Future: Send + 'static> + Clone + Send + Sync + 'static
{
}
