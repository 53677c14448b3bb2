//! Origins of web pages, as a setting lists them.

use axum::http::{HeaderValue, Uri};

/// Reads origins between commas, each exactly as browsers send it.
pub fn read(text: &str) -> Result<Vec<HeaderValue>, String> {
    text.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(read_one).collect()
}

fn read_one(text: &str) -> Result<HeaderValue, String> {
    if text == "*" {
        return Err("\"*\" would let every page in; name each origin, like https://admin.example.org".to_owned());
    }
    let wrong = || format!("{text:?} is not the origin of a web page like https://admin.example.org");
    let exact = canonical_origin(text).ok_or_else(wrong)?;
    if exact != text {
        return Err(format!("{text:?} is not an origin as browsers send it; write {exact}"));
    }
    HeaderValue::from_str(text).map_err(|_| wrong())
}

/// The origin of an address: in lower case, without the port that its scheme has anyway, and without a path.
fn canonical_origin(text: &str) -> Option<String> {
    let uri: Uri = text.parse().ok()?;
    let authority =
        uri.authority().filter(|authority| !authority.as_str().contains('@') && is_host(authority.host()))?;
    let (scheme, usual) = match uri.scheme_str()? {
        "https" => ("https", 443),
        "http" => ("http", 80),
        _ => return None,
    };
    let port = authority.port_u16().filter(|port| *port != usual).map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}://{}{port}", authority.host().to_ascii_lowercase()))
}

/// True for a name or an address. A pattern such as `*.example.org` would match no page.
fn is_host(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
    !host.is_empty() && host.bytes().all(is_part)
}
