//! `fairshared serve`: the server, until a signal stops it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tokio::net::TcpListener;

use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{self, job_settings, open_new_service, retry_while_unreachable};
use super::output::print;
use super::running_server::RunningServer;
use crate::config::Config;
use crate::jobs::JobRunner;
use crate::rest::RequestLimits;
use crate::server::{KeyQuotas, ServerApp};
use crate::service::{Caller, Service};
use crate::ui::{PublicSite, PublicUrl};

/// Run the server
#[derive(Parser)]
#[command(name = "serve")]
#[expect(clippy::doc_markdown, reason = "help texts, printed as they are")]
pub struct ServeArgs {
    /// Address and port [env: FAIRSHARED_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Do not apply missing migrations [env: FAIRSHARED_MIGRATE_ON_START=false]
    #[arg(long)]
    no_migrate: bool,
    /// How long to wait at start for a database that does not answer, like 90s or 5m; 0s: not at all [env: FAIRSHARED_WAIT_FOR_DATABASE_SECONDS] [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_wait)]
    wait_for_database: Option<u32>,
}

impl CommandArgs for ServeArgs {
    const IS_LOCAL: bool = true;
    const IS_SERVICE: bool = true;

    fn settings(&self) -> Vec<(&'static str, String)> {
        let listen = self.listen.clone().map(|value| ("listen", value));
        let migrate = self.no_migrate.then(|| ("migrate_on_start", "false".to_owned()));
        let wait = self.wait_for_database.map(|seconds| ("wait_for_database_seconds", seconds.to_string()));
        [listen, migrate, wait].into_iter().flatten().collect()
    }

    async fn run(self, config: Config) -> CommandOutcome {
        // The address is taken first, because a process that does not get it must not look like a restart of the service.
        let mut front = RunningServer::new(listen(&config).await?, &config)?;
        let Some(service) = front.unless_stopped(retry_while_unreachable(&config, || open_new_service(&config))).await
        else {
            return Ok(ExitCode::SUCCESS);
        };
        let service = service?;
        if service.keys(&Caller::internal("serve")).await.is_ok_and(|keys| keys.is_empty()) {
            tracing::warn!("there is no API key yet; `fairshared keys create --role admin --label NAME` makes one");
        }
        until_stopped(service, front, &config, |address| print(&format!("listening on {address}"))).await
    }
}

/// Parses seconds, minutes or hours into seconds; a number without a unit is in seconds.
fn parse_wait(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1),
        Some('m') => (&text[..text.len() - 1], 60),
        Some('h') => (&text[..text.len() - 1], 3_600),
        _ => (text, 1),
    };
    let count = digits.parse::<u32>().ok().and_then(|count| count.checked_mul(unit));
    count.ok_or_else(|| format!("{text:?} is not a length of time like 90s, 5m or 1h"))
}

/// Listens on the address of the settings.
pub async fn listen(config: &Config) -> Result<TcpListener, CommandFailure> {
    bind(config.listen).await
}

/// Listens on an address.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, CommandFailure> {
    TcpListener::bind(address).await.map_err(|error| {
        let hint = if error.kind() == ErrorKind::AddrInUse { "; --listen takes another address" } else { "" };
        CommandFailure::Failed(format!("cannot listen on {address}: {error}{hint}"))
    })
}

/// Serves and runs the jobs until SIGINT or SIGTERM, then lets requests and jobs in progress end; a second signal ends the
/// process at once. `ready` gets the address when requests are answered.
pub async fn until_stopped(
    service: Arc<Service>,
    mut front: RunningServer,
    config: &Config,
    ready: impl FnOnce(&str) -> Result<(), CommandFailure>,
) -> CommandOutcome {
    let grace = config.key_grace_seconds;
    service.set_key_grace((grace > 0).then(|| Duration::from_secs(grace.into())));
    service.start_serving().await?;
    let upkeep = tokio::spawn(Arc::clone(&service).keep_up());
    let runner = JobRunner::new(Arc::clone(&service), job_settings(config));
    let start = retry_while_unreachable(config, async || Ok(runner.start().await?));
    let Some(started) = front.unless_stopped(start).await else { return Ok(ExitCode::SUCCESS) };
    started?;
    let limits = RequestLimits {
        body_bytes: config.max_body_bytes,
        bulk_bytes: config.max_bulk_bytes,
        timeout: Duration::from_secs(config.request_timeout_seconds),
        silence: Duration::from_secs(config.stream_silence_seconds),
    };
    let key_quotas = KeyQuotas {
        requests_at_once: config.max_requests_per_key,
        requests_per_second: NonZeroU32::new(config.max_requests_per_second),
    };
    if config.max_bodies_bytes > 0 {
        service.set_memory(config.max_bodies_bytes);
    }
    let cors_origins = config.cors_origins.clone();
    let site = PublicSite { public: config.public_url.as_ref().and_then(PublicUrl::new) };
    front.open(ServerApp {
        service: Arc::clone(&service),
        jobs: Arc::clone(&runner) as _,
        limits,
        key_quotas,
        site,
        cors_origins,
    });
    ready(&front.address)?;
    front.until_stopped().await?;
    service.health.drain();
    let rest = async {
        runner.shutdown().await;
        if let Err(error) = service.store_key_uses().await {
            tracing::warn!(%error, "last uses of keys not stored");
        }
        upkeep.abort();
        let _ = upkeep.await;
        // SQLite writes its log back into the file when the last connection closes, but the thread of a connection whose
        // request was given up may close it later, or never before the process ends.
        service.save_log().await;
        open::close(service.store()).await;
    };
    front.drain(rest).await?;
    Ok(ExitCode::SUCCESS)
}
