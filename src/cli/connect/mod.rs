//! `fairshared connect`: stands beside a real scheduler, reports what runs there, and gives it the order.

mod command;
mod htcondor;
mod kueue;
mod monitor_server;
mod outcome_log;
pub mod run_conversion;
pub mod run_lines;
mod slurm;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::command::CommandArgs;
use super::failure::CommandOutcome;
use crate::config::Config;
use crate::connectors::htcondor::settings::HtCondorSettings;
use crate::connectors::kueue::settings::KueueSettings;
use crate::connectors::slurm::settings::SlurmSettings;

/// The exit code if another connector of the cluster runs.
const EXIT_LOCKED: u8 = 3;

/// Stand beside a scheduler: report what runs, and give it the order
#[derive(Parser)]
#[command(name = "connect")]
pub struct ConnectArgs {
    #[command(subcommand)]
    scheduler: ConnectScheduler,
}

#[derive(Subcommand)]
enum ConnectScheduler {
    /// Slurm, by its programs squeue, sprio, sacct, sacctmgr and scontrol; settings are in the table [slurm] of the file of --config
    #[command(
        after_help = "Exit codes: 0 done; 1 the round failed, or --check found an error; 2 wrong usage or settings; 3 another connector runs"
    )]
    Slurm(ConnectFlags),
    /// HTCondor, by its programs `condor_q`, `condor_history`, `condor_status` and `condor_userprio`; settings are in the table [htcondor] of the file of --config
    #[command(
        name = "htcondor",
        after_help = "Exit codes: 0 done; 1 the round failed, or --check found an error; 2 wrong usage or settings; 3 another connector runs"
    )]
    HtCondor(ConnectFlags),
    /// Kueue on Kubernetes, by the API server of the cluster; settings are in the table [kueue] of the file of --config
    #[command(
        after_help = "Exit codes: 0 done; 1 the round failed, or --check found an error; 2 wrong usage or settings; 3 another connector runs"
    )]
    Kueue(ConnectFlags),
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct ConnectFlags {
    /// Run one round and print its outcome
    #[arg(long, conflicts_with_all = ["check", "reset", "print_config"])]
    once: bool,
    /// Write nothing to the scheduler, whatever the settings say
    #[arg(long)]
    shadow: bool,
    /// Say what is missing before the first round, and how everything is mapped
    #[arg(long, conflicts_with_all = ["reset", "print_config"])]
    check: bool,
    /// Take back every value in the scheduler, also while the server is away
    #[arg(long, conflicts_with = "print_config")]
    reset: bool,
    /// Print a settings file with comments
    #[arg(long)]
    print_config: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = ConnectOutput::Table)]
    output: ConnectOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConnectOutput {
    Table,
    Json,
}

impl CommandArgs for ConnectArgs {
    const IS_SERVICE: bool = true;

    async fn run(self, config: Config) -> CommandOutcome {
        match self.scheduler {
            ConnectScheduler::Slurm(flags) => command::connect::<SlurmSettings>(flags, config).await,
            ConnectScheduler::HtCondor(flags) => command::connect::<HtCondorSettings>(flags, config).await,
            ConnectScheduler::Kueue(flags) => command::connect::<KueueSettings>(flags, config).await,
        }
    }
}

/// The exit code of a round or a check.
fn exit_code(is_ok: bool) -> ExitCode {
    if is_ok { ExitCode::SUCCESS } else { ExitCode::from(super::failure::EXIT_FAULT_FOUND) }
}
