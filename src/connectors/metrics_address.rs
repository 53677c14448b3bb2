//! The key `metrics_listen`, which the settings of every connector have.

use std::net::SocketAddr;

/// The default as TOML: no port is opened.
pub const METRICS_LISTEN_DEFAULT: &str = "\"off\"";
pub const METRICS_LISTEN_ABOUT: &str =
    "address and port for /metrics and /readyz, like \"127.0.0.1:9330\"; they need no key; off: none";

/// Reads the address; `None` for `off`.
pub fn read_metrics_address(value: &toml::Value) -> Result<Option<SocketAddr>, String> {
    let text = value.as_str().unwrap_or_default();
    if text == "off" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| "is neither \"off\" nor an address and port like \"127.0.0.1:9330\"".to_owned())
}
