//! The command line, with one file for each command. Commands that read or change live data use the REST API through a
//! [`ApiClient`], on a server or in this process. A new command is one file, listed here as a module and in [`COMMANDS`].

mod agents;
mod ask;
mod audit;
mod backup;
pub mod client;
mod command;
mod completions;
pub mod connect;
mod connectors;
mod cycle;
mod cycle_plan;
pub mod demo;
mod divide;
mod division;
mod doctor;
mod domains;
mod explain;
mod export;
mod failure;
mod fairness;
mod figure_text;
mod forecast_text;
mod groups;
mod history;
mod id;
pub mod import;
mod jobs;
mod kernels;
mod keys;
mod list;
mod log;
mod metadata;
mod migrate;
mod nouns;
mod occupancy;
mod open;
mod options;
mod output;
mod people;
mod plan;
mod projects;
mod queues;
mod rank;
mod reclaim;
pub mod refusals;
mod replay;
mod running_server;
mod sequence;
mod serve;
mod simulate;
mod simulation_answer;
mod text_table;
mod tier;
mod usage;
mod users;
mod weights;
mod whoami;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches};

pub use client::ApiClient;
pub use command::{CommandArgs, CommandEntry};

use crate::config::Config;
use crate::process::memory;
use crate::telemetry;
use failure::{CommandFailure, CommandOutcome};

/// All commands, in the order of the help.
pub const COMMANDS: &[CommandEntry] = &[
    CommandEntry::of::<demo::command::DemoArgs>(),
    CommandEntry::of::<serve::ServeArgs>(),
    CommandEntry::of::<migrate::MigrateArgs>(),
    CommandEntry::of::<keys::KeysArgs>(),
    CommandEntry::of::<whoami::WhoAmIArgs>(),
    CommandEntry::of::<doctor::DoctorArgs>(),
    CommandEntry::of::<id::IdArgs>(),
    CommandEntry::of::<groups::GroupsArgs>(),
    CommandEntry::of::<options::OptionsArgs>(),
    CommandEntry::of::<metadata::MetadataArgs>(),
    CommandEntry::of::<agents::AgentsArgs>(),
    CommandEntry::of::<import::command::ImportCommandArgs>(),
    CommandEntry::of::<kernels::KernelsArgs>(),
    CommandEntry::of::<workloads::WorkloadsArgs>(),
    CommandEntry::of::<occupancy::OccupancyArgs>(),
    CommandEntry::of::<usage::UsageArgs>(),
    CommandEntry::of::<domains::DomainsArgs>(),
    CommandEntry::of::<projects::ProjectsArgs>(),
    CommandEntry::of::<users::UsersArgs>(),
    CommandEntry::of::<rank::RankArgs>(),
    CommandEntry::of::<fairness::FairnessArgs>(),
    CommandEntry::of::<history::HistoryArgs>(),
    CommandEntry::of::<explain::ExplainArgs>(),
    CommandEntry::of::<weights::WeightsArgs>(),
    CommandEntry::of::<queues::QueuesArgs>(),
    CommandEntry::of::<division::DivisionArgs>(),
    CommandEntry::of::<plan::PlanArgs>(),
    CommandEntry::of::<sequence::SequenceArgs>(),
    CommandEntry::of::<connectors::ConnectorsArgs>(),
    CommandEntry::of::<simulate::SimulateArgs>(),
    CommandEntry::of::<divide::DivideArgs>(),
    CommandEntry::of::<reclaim::ReclaimArgs>(),
    CommandEntry::of::<cycle::CycleArgs>(),
    CommandEntry::of::<cycle_plan::CyclePlanArgs>(),
    CommandEntry::of::<replay::ReplayArgs>(),
    CommandEntry::of::<log::LogArgs>(),
    CommandEntry::of::<audit::AuditArgs>(),
    CommandEntry::of::<backup::BackupArgs>(),
    CommandEntry::of::<jobs::JobsArgs>(),
    CommandEntry::of::<connect::ConnectArgs>(),
    CommandEntry::of::<export::ExportArgs>(),
    CommandEntry::of::<completions::CompletionsArgs>(),
];

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed, or `audit` or `weights diff` found a difference, or `doctor` a fault, or an import file ended early (its rows so far are kept)
  2  unusable input or wrong usage; nothing was changed

With --server a command asks that server and shows it the key; else it works on the database by itself.
Every setting is a flag, a FAIRSHARED_* variable or a key of the configuration file, in this order.";

#[derive(Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::doc_markdown, reason = "help texts, printed as they are")]
struct GlobalFlags {
    /// Configuration file (TOML) [env: FAIRSHARED_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Server to ask instead of the database, like https://fairshared.example.org [env: FAIRSHARED_SERVER]
    #[arg(long, global = true, value_name = "URL", conflicts_with = "database_url")]
    server: Option<String>,
    /// Key to show to the server; other users of this machine can see a flag, but not the variable [env: FAIRSHARED_KEY]
    #[arg(long, global = true, value_name = "KEY")]
    key: Option<String>,
    /// File with the certificate authorities (PEM) of the server, instead of those of the system [env: FAIRSHARED_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    ca_file: Option<String>,
    /// Database address; `demo` has one of its own unless this flag names it [env: FAIRSHARED_DATABASE_URL] [default: sqlite://fairshared.db]
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// The messages to log to standard error, as a tracing filter [env: FAIRSHARED_LOG]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// Form of the log, text or json [env: FAIRSHARED_LOG_FORMAT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl GlobalFlags {
    fn values(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("server", &self.server),
            ("key", &self.key),
            ("ca_file", &self.ca_file),
            ("database_url", &self.database_url),
            ("log", &self.log),
            ("log_format", &self.log_format),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
    }
}

/// The program for the help and the completions.
fn program() -> clap::Command {
    let program = clap::Command::new("fairshared")
        .about("A fair-share server for compute clusters")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(COMMANDS.iter().map(|entry| (entry.describe)()));
    GlobalFlags::augment_args(program)
}

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let mut program = program();
    let matches = program.try_get_matches_from_mut(std::env::args_os()).map_err(usage_failure);
    match matches.and_then(|matches| execute(&program, &matches)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// The command of that name. The subcommands of the program begin with [`COMMANDS`], in their order.
fn find_command(program: &clap::Command, name: &str) -> Option<&'static CommandEntry> {
    COMMANDS.get(program.get_subcommands().position(|command| command.get_name() == name)?)
}

fn usage_failure(error: clap::Error) -> CommandFailure {
    CommandFailure::Misused(Box::new(error))
}

fn execute(program: &clap::Command, matches: &ArgMatches) -> CommandOutcome {
    let global = GlobalFlags::from_arg_matches(matches).map_err(usage_failure)?;
    let found = matches.subcommand().and_then(|(name, own)| Some((name, find_command(program, name)?, own)));
    let Some((name, entry, own)) = found else {
        return Err(CommandFailure::Unusable("no command is given".to_owned()));
    };
    if entry.is_local && global.server.is_some() {
        return Err(CommandFailure::Unusable(format!("`{name}` does its work on this machine: it takes no --server")));
    }
    let command = (entry.parse)(own).map_err(usage_failure)?;
    let mut flags = global.values();
    flags.extend(command.settings);
    let config = Config::settle(&flags, global.config.as_deref(), std::env::vars_os())?;
    if entry.is_service || config.log_chosen {
        telemetry::start(&config);
    }
    if !entry.is_service {
        // A command ends soon, so returning memory to the system in between would only cost time.
        memory::keep_blocks();
    }
    if !config.injected.is_empty() {
        tracing::info!(variables = config.injected.join(", "), "variables of Kubernetes Services are no settings");
    }
    let runtime = tokio::runtime::Runtime::new().map_err(|e| CommandFailure::Failed(format!("cannot start: {e}")))?;
    let outcome = runtime.block_on(async {
        let outcome = (command.work)(config).await;
        client::close().await;
        outcome
    });
    // A standard input that stays open must not delay the end of the program.
    runtime.shutdown_background();
    outcome
}
