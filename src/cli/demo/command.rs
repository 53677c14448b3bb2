//! The subcommand: makes or finds the cluster, says what to try, and serves.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::cluster::{self, DemoCluster};
use super::fill::fill;
use super::groups::GROUPS;
use super::people::GPU_CLUSTER;
use super::pulse;
use super::welcome::WelcomeText;
use crate::cli::command::CommandArgs;
use crate::cli::failure::{CommandFailure, CommandOutcome};
use crate::cli::running_server::RunningServer;
use crate::cli::{open, output, serve};
use crate::config::Config;
use crate::domain::time::MICROS_PER_SECOND;
use crate::service::keys::NewKey;
use crate::service::{Caller, Role, Service, SystemClock};
use crate::store::Store;

/// Run the server over a made-up cluster, to look around
#[derive(Parser)]
#[command(name = "demo")]
pub struct DemoArgs {
    /// Another number, another history
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the database in this folder; a demo found there goes on [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Days of history
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    /// Nothing changes by itself: no kernel starts or ends
    #[arg(long)]
    still: bool,
    /// Address and port [default: 127.0.0.1:8080, or a free port if that one is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

impl CommandArgs for DemoArgs {
    const IS_LOCAL: bool = true;

    fn settings(&self) -> Vec<(&'static str, String)> {
        self.listen.iter().map(|value| ("listen", value.clone())).collect()
    }

    async fn run(self, config: Config) -> CommandOutcome {
        // Neither a variable nor a file can point the demo at a real database.
        let database = config.database_is_flag.then_some(config.database_url.as_str());
        let place = DemoDatabase::of(&self, database)?;
        let (service, origin) = prepare_demo(&place, &self).await?;
        let new = NewKey { role: Role::Admin, label: "demo".to_owned(), user: None, expires_at: None, groups: None };
        let (key, _) = service.create_key(Caller::internal("demo"), new).await?;
        let listener = listen(&self, &config).await?;
        let pulse = (!self.still).then(|| tokio::spawn(pulse::run(Arc::clone(&service), self.seed)));
        let ready = |address: &str| {
            let (data, is_still) = (place.describe(), self.still);
            let welcome = WelcomeText { address: address.to_owned(), key, data, origin, is_still };
            output::print(&welcome.text())
        };
        let ended = serve::until_stopped(service, RunningServer::new(listener, &config)?, &config, ready).await;
        if let Some(pulse) = pulse {
            pulse.abort();
        }
        ended
    }
}

/// Where the database is. A temporary folder goes with it.
struct DemoDatabase {
    url: String,
    temporary: Option<TempDir>,
}

impl DemoDatabase {
    fn of(args: &DemoArgs, database: Option<&str>) -> Result<Self, CommandFailure> {
        let in_folder = |folder: &Path| format!("sqlite://{}", folder.join("fairshared-demo.db").display());
        match (database, &args.folder) {
            (Some(_), Some(_)) => Err(CommandFailure::Unusable("give --folder or --database-url, not both".to_owned())),
            (Some(url), None) => Ok(Self { url: url.to_owned(), temporary: None }),
            (None, Some(folder)) => {
                let made = std::fs::create_dir_all(folder);
                made.map_err(|e| CommandFailure::Unusable(format!("cannot make {}: {e}", folder.display())))?;
                Ok(Self { url: in_folder(folder), temporary: None })
            }
            (None, None) => {
                let folder = TempDir::with_prefix("fairshared-demo-");
                let folder = folder.map_err(|e| CommandFailure::Failed(format!("no temporary folder: {e}")))?;
                Ok(Self { url: in_folder(folder.path()), temporary: Some(folder) })
            }
        }
    }

    fn describe(&self) -> String {
        let shown = open::without_secrets(&self.url);
        if self.temporary.is_some() { format!("{shown} (goes when the demo ends)") } else { shown }
    }
}

/// Opens the database and makes the cluster in it, unless an earlier demo has. Says which.
async fn prepare_demo(place: &DemoDatabase, args: &DemoArgs) -> Result<(Arc<Service>, String), CommandFailure> {
    let store = Store::connect(&place.url).await?;
    store.migrate_up().await?;
    let service = Service::new(store.clone(), Arc::new(SystemClock)).await?;
    if !service.groups(&Caller::internal("demo")).is_empty() {
        let found = service.group(&Caller::internal("demo"), GPU_CLUSTER).is_ok();
        let foreign = || CommandFailure::Unusable("this database holds something else than a demo".to_owned());
        return if found { Ok((service, "The cluster of an earlier demo goes on".to_owned())) } else { Err(foreign()) };
    }
    let began = service.clock().now();
    let (seed, days) = (args.seed, args.days);
    let cluster: DemoCluster = cluster::generate(began.micros().div_euclid(MICROS_PER_SECOND), seed, days);
    fill(&store, began, &cluster, seed).await?;
    // It knows of the times before only if it begins after them.
    let service = Service::new(store, Arc::new(SystemClock)).await?;
    let seconds = (service.clock().now().micros() - began.micros()) as f64 / 1e6;
    let (kernels, nodes) = (cluster.kernels.len(), GROUPS.iter().map(|g| g.nodes).sum::<usize>());
    Ok((service, format!("{nodes} nodes with {days} days and {kernels} kernels behind them, made in {seconds:.1} s")))
}

/// Takes the address that was asked for; without a wish, any free port if the usual one is taken.
async fn listen(args: &DemoArgs, config: &Config) -> Result<TcpListener, CommandFailure> {
    match serve::bind(config.listen).await {
        Err(_) if args.listen.is_none() => serve::bind(SocketAddr::new(config.listen.ip(), 0)).await,
        bound => bound,
    }
}
