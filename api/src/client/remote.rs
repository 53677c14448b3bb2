//! A server at an address, over HTTP or TLS.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Uri;
use axum::http::header::HeaderValue;
use axum::http::uri::Scheme;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tower::ServiceExt;

use super::{ApiClient, ClientFailure};

/// The time in which a server must accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub fn connect(server: &Uri, key: Option<&str>, authorities: Option<&Path>) -> Result<ApiClient, ClientFailure> {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    let prefix = server.to_string().trim_end_matches('/').to_owned();
    let address: Arc<str> = prefix.as_str().into();
    let failed = move |error: legacy::Error| unreachable_failure(&address, &error);
    let (key, builder) = (key.map(authorization_header).transpose()?, legacy::Client::builder(TokioExecutor::new()));
    if server.scheme() != Some(&Scheme::HTTPS) {
        return Ok(ApiClient::over(builder.build::<_, Body>(tcp).map_err(failed), prefix, key));
    }
    tcp.enforce_http(false);
    let tls = HttpsConnectorBuilder::new().with_tls_config(tls_config(authorities)?);
    let connector = tls.https_only().enable_http1().wrap_connector(tcp);
    Ok(ApiClient::over(builder.build::<_, Body>(connector).map_err(failed), prefix, key))
}

fn authorization_header(key: &str) -> Result<HeaderValue, ClientFailure> {
    let unusable = || ClientFailure::Unusable("the key has characters that no key has".to_owned());
    let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| unusable())?;
    value.set_sensitive(true);
    Ok(value)
}

/// The TLS settings: the certificate authorities in `file` are trusted, otherwise those of the system.
fn tls_config(file: Option<&Path>) -> Result<ClientConfig, ClientFailure> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions();
    let config = config.map_err(|error| ClientFailure::Failed(format!("cannot use TLS: {error}")))?;
    let config = match file {
        Some(file) => config.with_root_certificates(read_authorities(file)?),
        None => config.with_native_roots().map_err(|error| {
            let detail = "the certificate authorities of the system cannot be read; --ca-file names others";
            ClientFailure::Failed(format!("{detail}: {error}"))
        })?,
    };
    Ok(config.with_no_client_auth())
}

/// The certificate authorities in a file.
fn read_authorities(file: &Path) -> Result<RootCertStore, ClientFailure> {
    let unusable = |detail: String| ClientFailure::Unusable(format!("--ca-file {}: {detail}", file.display()));
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut roots = RootCertStore::empty();
    for certificate in read.map_err(|error| unusable(error.to_string()))? {
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unusable("it holds no certificate in PEM".to_owned())) } else { Ok(roots) }
}

/// The reason why there is no answer, from the innermost cause.
fn unreachable_failure(server: &str, error: &legacy::Error) -> ClientFailure {
    let causes: Vec<&(dyn Error + 'static)> = successors(error.source(), |cause| inner_cause(*cause)).collect();
    let cause = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
    let unknown = |cause: &&(dyn Error + 'static)| {
        let issuer = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        cause.downcast_ref::<rustls::Error>().is_some_and(|error| *error == issuer)
    };
    let hint = if causes.iter().any(unknown) { "; --ca-file names the authority of a private certificate" } else { "" };
    let verb = if error.is_connect() { "reach" } else { "talk to" };
    ClientFailure::Unreachable(format!("cannot {verb} {server}: {cause}{hint}"))
}

/// The cause of an error. An error wrapped in an I/O error counts as its cause.
fn inner_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source())
}
