//! The log, on standard error: standard output is for results.

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Starts the log as configured. A second call has no effect.
pub fn start(config: &Config) {
    // The filter was checked when the configuration was read.
    let filter = EnvFilter::new(&config.log);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logging runs already");
    }
}
