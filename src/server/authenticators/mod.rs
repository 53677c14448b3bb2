//! The ways to prove an identity in a request, one file each.
//!
//! An [`Authenticator`] finds its own kind of proof in the head of a request, and makes a [`Principal`] of it. A further way is
//! a file of its own and a line in [`authenticators`].

mod api_key;
mod web_session;

use std::sync::Arc;

use axum::extract::Request;
use futures::future::BoxFuture;

use crate::service::access::Principal;
use crate::service::{Error, Service};
use crate::ui::PublicSite;

/// One way to prove an identity.
pub trait Authenticator: Send + Sync {
    /// The proof of this kind that a request carries; `None` if it carries none. Fails if the proof may not be used here.
    fn find_proof<'a>(&self, request: &'a Request) -> Result<Option<&'a str>, Error>;

    /// The principal that a proof stands for. This may wait for the database.
    fn authenticate<'a>(&'a self, proof: &'a str) -> BoxFuture<'a, Result<Principal, Error>>;
}

/// The ways that a server accepts, in the order in which they look at a request.
pub fn authenticators(service: &Arc<Service>, site: PublicSite) -> Arc<[Box<dyn Authenticator>]> {
    let session = web_session::SessionAuthenticator { service: Arc::clone(service), site };
    let key = api_key::KeyAuthenticator { service: Arc::clone(service) };
    Arc::new([Box::new(session), Box::new(key)])
}
