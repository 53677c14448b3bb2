//! API keys in the header `Authorization: Bearer <key>`.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::Authenticator;
use crate::service::access::Principal;
use crate::service::{Error, Service};

pub struct KeyAuthenticator {
    pub service: Arc<Service>,
}

impl Authenticator for KeyAuthenticator {
    fn find_proof<'a>(&self, request: &'a Request) -> Result<Option<&'a str>, Error> {
        let Some(value) = request.headers().get(header::AUTHORIZATION) else { return Ok(None) };
        let (scheme, key) = value.to_str().ok().and_then(|text| text.split_once(' ')).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") || key.trim().is_empty() {
            let detail = "the header Authorization holds no key; it reads: Bearer <key>".to_owned();
            return Err(Error::Unauthorized { code: "missing_key", detail });
        }
        Ok(Some(key.trim()))
    }

    fn authenticate<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Principal, Error>> {
        self.service.authenticate(key).boxed()
    }
}
