//! `POST /ui/session` signs in with a key, `DELETE /ui/session` signs out. These are the only endpoints of the pages
//! besides GraphQL.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::PagesState;
use crate::rest::extract::JsonBody;
use crate::rest::problem::Result;
use crate::service::keys::sessions::SESSION_SECONDS;

const SESSION_COOKIE: &str = "fairshared_session";

/// The key to sign in with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    key: String,
}

/// The session id in the cookie of a request.
pub fn session_of(headers: &HeaderMap) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let cookies = texts.flat_map(|text| text.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.into_iter().find(|(name, _)| *name == SESSION_COOKIE).map(|(_, id)| id)
}

/// `POST /ui/session`
pub async fn open(
    State(PagesState { service, site }): State<PagesState>,
    headers: HeaderMap,
    JsonBody(SignIn { key }): JsonBody<SignIn>,
) -> Result<Response> {
    site.require_own_page(&headers)?;
    let id = service.open_session(key.trim()).await?;
    let cookie = format!("{SESSION_COOKIE}={id}; Max-Age={SESSION_SECONDS}; {}", site.cookie_attributes());
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// `DELETE /ui/session`
pub async fn close(State(PagesState { service, site }): State<PagesState>, headers: HeaderMap) -> Result<Response> {
    site.require_own_page(&headers)?;
    if let Some(id) = session_of(&headers) {
        service.close_session(id).await?;
    }
    let cookie = format!("{SESSION_COOKIE}=; Max-Age=0; {}", site.cookie_attributes());
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
