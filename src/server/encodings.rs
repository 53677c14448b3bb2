//! Refuses compressed bodies, which no endpoint reads. Without this check they would be refused as invalid JSON, which
//! hides the reason.

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::rest::problem::Problem;

/// Refuses a request whose body has an encoding other than `identity`.
pub async fn refuse_encoded_bodies(request: Request, next: Next) -> Response {
    let Some(encoding) = foreign_encoding(&request) else { return next.run(request).await };
    let detail = format!("the body is encoded as {encoding:?} (Content-Encoding); send it is");
    let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_encoding", detail);
    problem.header(header::ACCEPT_ENCODING, "identity").into_response()
}

/// The first encoding of the body that is not `identity`.
fn foreign_encoding(request: &Request) -> Option<String> {
    if request.body().is_end_stream() {
        return None;
    }
    let values = request.headers().get_all(header::CONTENT_ENCODING);
    let named = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mut encodings = named.flat_map(|value| value.split(',').map(|part| part.trim().to_owned()).collect::<Vec<_>>());
    encodings.find(|encoding| !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity"))
}
