//! The public address of the server: the attributes of its cookies, and the check that a request comes from its own
//! pages.

use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderName, Uri, header};

use crate::service::Error;

/// The header that a request with the session cookie needs. A page of another site cannot send it.
const CSRF_HEADER: HeaderName = HeaderName::from_static("x-fairshared-csrf");

/// The header in which a browser says how a page's origin relates to the server that it asks.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The address under which browsers reach the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    /// As browsers write it: without a port that is the default of the scheme.
    origin: String,
    /// The path; it begins and ends with `/`.
    path: String,
    is_secure: bool,
}

impl PublicUrl {
    /// Reads an address such as `https://example.org/fairshared`.
    pub fn new(uri: &Uri) -> Option<Self> {
        let (scheme, host) = (uri.scheme()?, uri.host()?);
        let usual = if *scheme == Scheme::HTTPS { 443 } else { 80 };
        let port = uri.port_u16().filter(|port| *port != usual).map(|port| format!(":{port}")).unwrap_or_default();
        Some(Self {
            origin: format!("{scheme}://{}{port}", host.to_ascii_lowercase()),
            path: format!("{}/", uri.path().trim_end_matches('/')),
            is_secure: *scheme == Scheme::HTTPS,
        })
    }
}

/// The public address of the server, if the settings contain it.
#[derive(Clone, Debug, Default)]
pub struct PublicSite {
    pub public: Option<PublicUrl>,
}

impl PublicSite {
    /// Refuses a request that a page of another site may have caused.
    pub fn require_own_page(&self, headers: &HeaderMap) -> Result<(), Error> {
        if !headers.contains_key(CSRF_HEADER) {
            let detail = "a request of a web page needs the header X-Fairshared-CSRF";
            return Err(Error::Forbidden(detail.to_owned()));
        }
        // Browsers send no `Origin` with a GET of a page to its own server. They send this header instead, which no
        // script can set.
        let is_same_origin = headers.get(FETCH_SITE).is_some_and(|value| value == "same-origin");
        if is_same_origin && !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if self.is_own(origin, headers) { Ok(()) } else { Err(Error::Forbidden(self.foreign(origin))) }
    }

    fn is_own(&self, origin: &str, headers: &HeaderMap) -> bool {
        if let Some(public) = &self.public {
            return origin == public.origin;
        }
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let named = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        named.is_some() && named == host
    }

    fn foreign(&self, origin: &str) -> String {
        match &self.public {
            Some(public) => format!(
                "the request comes from a page of {origin:?}, and the pages of this server are at {}{}ui/",
                public.origin, public.path
            ),
            None => format!(
                "the request comes from a page of {origin:?}, which is not this server's; behind a proxy, set FAIRSHARED_PUBLIC_URL"
            ),
        }
    }

    /// The attributes of the session cookie.
    pub fn cookie_attributes(&self) -> String {
        let path = self.public.as_ref().map_or("/", |public| &public.path);
        let secure = if self.public.as_ref().is_some_and(|public| public.is_secure) { "; Secure" } else { "" };
        format!("Path={path}; HttpOnly; SameSite=Strict{secure}")
    }
}
