//! `fairshared serve`: the server, until somebody stops it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::failure::{Failure, Outcome};
use super::jobs::settings;
use super::open::{caller, service_made};
use super::output::print;
use crate::config::Config;
use crate::jobs::Runner;
use crate::rest::Limits;
use crate::server::{self, App};
use crate::service::Service;

#[derive(Args)]
#[expect(clippy::doc_markdown, reason = "help texts, printed as they are")]
pub struct ServeArgs {
    /// Address and port [env: FAIRSHARED_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Do not apply missing migrations [env: FAIRSHARED_MIGRATE_ON_START=false]
    #[arg(long)]
    no_migrate: bool,
}

impl ServeArgs {
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let listen = self.listen.clone().map(|value| ("listen", value));
        let migrate = self.no_migrate.then(|| ("migrate_on_start", "false".to_owned()));
        listen.into_iter().chain(migrate).collect()
    }
}

pub async fn run(config: Config) -> Outcome {
    let service = service_made(&config).await?;
    if service.keys(&caller()).await?.is_empty() {
        tracing::warn!("there is no API key yet; `fairshared keys create --role admin --label NAME` makes one");
    }
    // Whoever does not get the address must not look like a restart of the service.
    let listener = listen(&config).await?;
    until_stopped(service, listener, &config, |address| print(&format!("listening on {address}"))).await
}

/// Takes the address.
pub async fn listen(config: &Config) -> Result<TcpListener, Failure> {
    let address = config.listen;
    TcpListener::bind(address).await.map_err(|e| Failure::Failed(format!("cannot listen on {address}: {e}")))
}

/// Serves and runs the jobs until SIGINT or SIGTERM, then lets requests and jobs in progress end; a
/// second signal ends at once. `ready` hears the address when requests are answered.
pub async fn until_stopped(
    service: Arc<Service>,
    listener: TcpListener,
    config: &Config,
    ready: impl FnOnce(&str) -> Result<(), Failure>,
) -> Outcome {
    let mut signals = Signals::listen()?;
    service.start_serving().await?;
    let runner = Runner::new(Arc::clone(&service), settings(config));
    runner.start().await?;
    let limits = Limits {
        body_bytes: config.max_body_bytes,
        bulk_bytes: config.max_bulk_bytes,
        timeout: Duration::from_secs(config.request_timeout_seconds),
    };
    let app = App { service: Arc::clone(&service), jobs: Arc::clone(&runner) as _, limits };
    let address = listener.local_addr().map_err(|e| Failure::Failed(format!("no address: {e}")))?;
    let shutdown = CancellationToken::new();
    let mut server = tokio::spawn(server::serve(app, listener, shutdown.clone()));
    ready(&format!("http://{address}"))?;
    tokio::select! {
        () = signals.next() => {}
        _ = &mut server => return Err(Failure::Failed("the server stopped by itself".to_owned())),
    }
    tracing::info!("stopping: requests and jobs in progress end first; a second signal ends at once");
    shutdown.cancel();
    let drained = async {
        if let Err(error) = server.await {
            tracing::warn!(%error, "the server did not stop cleanly");
        }
        runner.shutdown().await;
        if let Err(error) = service.store().clone().close().await {
            tracing::warn!(%error, "the database was not closed cleanly");
        }
    };
    tokio::select! {
        () = drained => Ok(ExitCode::SUCCESS),
        () = signals.next() => Err(Failure::Failed("stopped by a second signal before everything had ended".to_owned())),
    }
}

/// SIGINT and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let failed = |e: std::io::Error| Failure::Failed(format!("cannot listen to signals: {e}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
