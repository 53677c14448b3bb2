//! The port of a serving process, and the signals that stop it.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::failure::CommandFailure;
use crate::config::Config;
use crate::process::files;
use crate::server::{self, ConnectionLimits, ServerApp, StartupRouter};

/// Listens from the beginning. Requests are answered once there is a service.
pub struct RunningServer {
    startup_router: StartupRouter,
    shutdown: CancellationToken,
    server: JoinHandle<()>,
    signals: StopSignals,
    /// The address for clients.
    pub address: String,
}

impl RunningServer {
    pub fn new(listener: TcpListener, config: &Config) -> Result<Self, CommandFailure> {
        let signals = StopSignals::listen()?;
        let address = listener.local_addr().map_err(|e| CommandFailure::Failed(format!("no address: {e}")))?;
        let (startup_router, shutdown) = (StartupRouter::closed(&config.cors_origins), CancellationToken::new());
        files::make_room_for(config.max_connections).map_err(|error| CommandFailure::Unusable(error.to_string()))?;
        let server =
            tokio::spawn(server::serve_router(startup_router.clone(), listener, limits(config), shutdown.clone()));
        Ok(Self { startup_router, shutdown, server, signals, address: format!("http://{address}") })
    }

    /// Starts to answer requests with the service.
    pub fn open(&self, app: ServerApp) {
        self.startup_router.open(server::router(app));
    }

    /// The result of `work`; `None` if a signal requests the stop first.
    pub async fn unless_stopped<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.signals.next() => None,
        }
    }

    /// Returns when a signal requests the stop.
    pub async fn until_stopped(&mut self) -> Result<(), CommandFailure> {
        tokio::select! {
            () = self.signals.next() => Ok(()),
            _ = &mut self.server => Err(CommandFailure::Failed("the server stopped by itself".to_owned())),
        }
    }

    /// Waits for requests in progress and then for `rest`. A second signal ends the process at once.
    pub async fn drain(mut self, rest: impl Future<Output = ()>) -> Result<(), CommandFailure> {
        tracing::info!("stopping: requests and jobs in progress end first; a second signal ends at once");
        self.shutdown.cancel();
        let drained = async {
            if let Err(error) = self.server.await {
                tracing::warn!(%error, "the server did not stop cleanly");
            }
            rest.await;
        };
        tokio::select! {
            () = drained => Ok(()),
            () = self.signals.next() => {
                Err(CommandFailure::Failed("stopped by a second signal before everything had ended".to_owned()))
            }
        }
    }
}

/// The limits of connections, from the settings.
fn limits(config: &Config) -> ConnectionLimits {
    ConnectionLimits {
        most: config.max_connections,
        head: Duration::from_secs(config.head_timeout_seconds),
        idle: Duration::from_secs(config.idle_timeout_seconds),
    }
}

/// SIGINT and SIGTERM.
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    pub fn listen() -> Result<Self, CommandFailure> {
        let failed = |e: std::io::Error| CommandFailure::Failed(format!("cannot listen to signals: {e}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
