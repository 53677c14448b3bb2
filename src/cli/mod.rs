//! The command line: one file for each subcommand. Commands work on the database through the
//! service; a running server notices what they change.

mod ask;
mod audit;
mod backup;
mod completions;
pub mod demo;
mod divide;
mod division;
mod export;
mod failure;
mod front;
mod id;
pub mod import;
mod jobs;
mod keys;
mod migrate;
mod open;
mod output;
mod plan;
mod queues;
mod rank;
mod reclaim;
mod sequence;
mod serve;
mod weights;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::Config;
use crate::process::priority::answer_soon;
use crate::process::threads::runtime;
use crate::telemetry;
use failure::{Failure, Outcome};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed, or `audit` or `weights diff` found a difference, or an import file ended early (its rows so far are kept)
  2  unusable input or wrong usage; nothing was changed

Every setting is a flag, a FAIRSHARED_* variable or a key of the configuration file, in this order.";

/// A fair-share server for compute clusters.
#[derive(Parser)]
#[command(name = "fairshared", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    global: GlobalFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::doc_markdown, reason = "help texts, printed as they are")]
struct GlobalFlags {
    /// Configuration file (TOML) [env: FAIRSHARED_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database address; `demo` has one of its own unless this flag names it [env: FAIRSHARED_DATABASE_URL] [default: sqlite://fairshared.db]
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// What to log to standard error, as a tracing filter [env: FAIRSHARED_LOG]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// Form of the log, text or json [env: FAIRSHARED_LOG_FORMAT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl GlobalFlags {
    fn values(&self) -> Vec<(&'static str, String)> {
        let given = [("database_url", &self.database_url), ("log", &self.log), ("log_format", &self.log_format)];
        given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
    }
}

#[derive(Subcommand)]
enum Command {
    /// Run the server over a made-up cluster, to look around
    Demo(demo::DemoArgs),
    /// Run the server
    Serve(serve::ServeArgs),
    /// Bring the database to this version's schema, or back
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Print the UUID that a name stands for; needs no server and no database
    #[command(subcommand)]
    Id(id::IdCommand),
    /// Import the jobs of another scheduler from a file
    Import(import::command::ImportCommand),
    /// Show the ranking of a resource group
    Rank(rank::RankArgs),
    /// Read and write fair-share weights, one by one or as a file
    #[command(subcommand)]
    Weights(weights::WeightsCommand),
    /// Show the queues of a resource group
    Queues(queues::QueuesArgs),
    /// Show what every queue of a resource group deserves now, or deserved on the days before
    Division(division::DivisionArgs),
    /// Show who would give back for a workload in a resource group; nothing is executed, exits with 0 for any verdict
    Plan(plan::PlanArgs),
    /// Order pending workloads
    Sequence(sequence::SequenceArgs),
    /// Show what every queue of a file deserves; needs no server and no database
    Divide(divide::DivideArgs),
    /// Show who gives back for a pending workload of a file; exits with 0 for any verdict
    Reclaim(reclaim::ReclaimArgs),
    /// Prove that usage is conserved; exits with 1 at the first row that differs
    Audit(audit::AuditArgs),
    /// Copy an SQLite database, also while a server uses it
    Backup(backup::BackupArgs),
    /// List scheduled jobs, or run one now
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Write schemas and usage buckets
    #[command(subcommand)]
    Export(export::ExportCommand),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Settings that are flags of this command only.
    fn settings(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Demo(args) => args.settings(),
            Self::Serve(args) => args.settings(),
            _ => Vec::new(),
        }
    }

    /// Whether the command logs without being asked to.
    fn is_service(&self) -> bool {
        matches!(self, Self::Serve(_))
    }

    async fn run(self, config: Config) -> Outcome {
        match self {
            Self::Demo(args) => demo::run(args, config).await,
            Self::Serve(_) => serve::run(config).await,
            Self::Migrate(command) => migrate::run(command, &config).await,
            Self::Keys(command) => keys::run(command, &config).await,
            Self::Import(command) => import::command::run(command, &config).await,
            Self::Id(command) => id::run(&command),
            Self::Rank(args) => rank::run(args, &config).await,
            Self::Weights(command) => weights::run(command, &config).await,
            Self::Queues(args) => queues::run(args, &config).await,
            Self::Division(args) => division::run(args, &config).await,
            Self::Plan(args) => plan::run(args, &config).await,
            Self::Sequence(args) => sequence::run(args, &config).await,
            Self::Divide(args) => divide::run(&args),
            Self::Reclaim(args) => reclaim::run(&args),
            Self::Audit(args) => audit::run(args, &config).await,
            Self::Backup(args) => backup::run(args, &config).await,
            Self::Jobs(command) => jobs::run(command, &config).await,
            Self::Export(command) => export::run(command, &config).await,
            Self::Completions(args) => completions::run(&args),
        }
    }
}

/// Runs the program and says how it went.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody may be left to read the help.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match execute(cli) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn execute(mut cli: Cli) -> Outcome {
    if let Command::Demo(args) = &mut cli.command {
        args.database_url.clone_from(&cli.global.database_url);
    }
    let mut flags = cli.global.values();
    flags.extend(cli.command.settings());
    let config = Config::settle(&flags, cli.global.config.as_deref(), std::env::vars_os())?;
    if cli.command.is_service() || config.log_chosen {
        telemetry::start(&config);
    }
    if !config.injected.is_empty() {
        tracing::info!(variables = config.injected.join(", "), "variables of Kubernetes Services are no settings");
    }
    // Connections, and the threads that some of them have, begin on this one.
    answer_soon();
    let runtime = runtime().map_err(|e| Failure::Failed(format!("cannot start: {e}")))?;
    let outcome = runtime.block_on(cli.command.run(config));
    // A standard input that nobody closes must not keep the program.
    runtime.shutdown_background();
    outcome
}
