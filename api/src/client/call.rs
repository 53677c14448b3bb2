//! A request that is being built.

use std::fmt::Display;

use axum::body::{Body, HttpBody};
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, Request};
use bytes::Bytes;
use form_urlencoded::Serializer;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::{ApiClient, ClientFailure, HttpAnswer};

pub const JSON_MEDIA_TYPE: &str = "application/json";
/// The characters that are encoded in a part of a path.
const RESERVED_CHARACTERS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request to one endpoint.
#[must_use = "a call does nothing before it is sent"]
pub struct EndpointCall {
    client: ApiClient,
    method: Method,
    /// The path from the first slash on, encoded.
    path: String,
    query: String,
    content: Option<(&'static str, Body)>,
}

impl EndpointCall {
    pub(super) fn new<'a>(client: &ApiClient, method: Method, path: impl IntoIterator<Item = &'a str>) -> Self {
        let path = path.into_iter().fold(String::new(), |mut text, part| {
            text.push('/');
            text.extend(utf8_percent_encode(part, RESERVED_CHARACTERS));
            text
        });
        Self { client: client.clone(), method, path, query: String::new(), content: None }
    }

    /// Sets a parameter of the query.
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        let mut query = Serializer::new(std::mem::take(&mut self.query));
        query.append_pair(name, &value.to_string());
        self.query = query.finish();
        self
    }

    /// Sets a parameter of the query, if there is a value.
    pub fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Sets a parameter of the query to true, if `set`.
    pub fn flag(self, name: &str, set: bool) -> Self {
        self.maybe(name, set.then_some(true))
    }

    /// Sends `value` as JSON.
    pub fn json(self, value: &impl Serialize) -> Result<Self, ClientFailure> {
        let written = serde_json::to_vec(value);
        let written = written.map_err(|error| ClientFailure::Failed(format!("cannot write the request: {error}")))?;
        Ok(self.body(JSON_MEDIA_TYPE, written))
    }

    /// Sends a body of the media type `kind`.
    pub fn body(mut self, kind: &'static str, body: impl Into<Body>) -> Self {
        self.content = Some((kind, body.into()));
        self
    }

    /// The same request for another page of the list.
    pub fn page(&self, limit: u64, cursor: Option<&str>) -> Self {
        let Self { client, method, path, query, .. } = self;
        let (client, method, path, query) = (client.clone(), method.clone(), path.clone(), query.clone());
        Self { client, method, path, query, content: None }.with("limit", limit).maybe("cursor", cursor)
    }

    pub async fn send(self) -> Result<HttpAnswer, ClientFailure> {
        if self.path.split('/').skip(1).any(str::is_empty) {
            return Err(ClientFailure::Unusable("a name in the request is empty".to_owned()));
        }
        let mut uri = format!("{}{}", self.client.prefix, self.path);
        if !self.query.is_empty() {
            uri.push('?');
            uri.push_str(&self.query);
        }
        let (kind, body) = self.content.map_or((None, Body::empty()), |(kind, body)| (Some(kind), body));
        let length = body.size_hint().exact();
        let request = Request::builder().method(self.method).uri(uri).body(body);
        let mut request =
            request.map_err(|error| ClientFailure::Unusable(format!("the request has no address: {error}")))?;
        if let Some(kind) = kind {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if let Some(length) = length.filter(|_| kind.is_some()) {
            request.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        self.client.send(request).await
    }

    /// Sends the request, and reads the whole answer.
    pub async fn bytes(self) -> Result<Bytes, ClientFailure> {
        self.send().await?.bytes().await
    }
}
