//! The log, on standard error: standard output is for results.

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// The client of Kubernetes logs each request that fails. The outcome of the round says it already, and is logged once for a fault that
/// lasts.
const CLIENT_DIRECTIVE: &str = "kube_client::client::builder=off";

/// Starts the log as configured. A second call has no effect.
pub fn start(config: &Config) {
    // The filter was checked when the configuration was read.
    let mut filter = EnvFilter::new(&config.log);
    if let Ok(directive) = CLIENT_DIRECTIVE.parse() {
        filter = filter.add_directive(directive);
    }
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logging runs already");
    }
}
