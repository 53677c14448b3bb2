//! Sessions of the web pages, whose id is in a cookie.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::Authenticator;
use crate::service::access::Principal;
use crate::service::{Error, Service};
use crate::ui::{PublicSite, session_of};

pub struct SessionAuthenticator {
    pub service: Arc<Service>,
    pub site: PublicSite,
}

impl Authenticator for SessionAuthenticator {
    /// The session in the cookie of a request without a key. Sessions are accepted for GraphQL only, and only from pages of
    /// this server: `site` refuses requests that a page of another site may have caused.
    fn find_proof<'a>(&self, request: &'a Request) -> Result<Option<&'a str>, Error> {
        let headers = request.headers();
        if request.uri().path() != "/graphql" || headers.contains_key(header::AUTHORIZATION) {
            return Ok(None);
        }
        let Some(id) = session_of(headers) else { return Ok(None) };
        self.site.require_own_page(headers)?;
        Ok(Some(id))
    }

    fn authenticate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Principal, Error>> {
        self.service.resume_session(id).boxed()
    }
}
