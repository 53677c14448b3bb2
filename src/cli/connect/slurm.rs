//! `fairshared connect slurm`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::api_server::ApiServer;
use super::monitor_server::serve_monitor;
use super::outcome_log::OutcomeLog;
use super::run_conversion::{check_slots, convert_runs};
use super::{ConnectFlags, ConnectOutput, EXIT_LOCKED, exit_code};
use crate::cli::client::{ApiClient, system_user};
use crate::cli::failure::{CommandFailure, CommandOutcome, eprint_line};
use crate::cli::output::{print, print_json, print_list};
use crate::cli::running_server::StopSignals;
use crate::config::Config;
use crate::connectors::connector_monitor::ConnectorMonitor;
use crate::connectors::fault::RoundFault;
use crate::connectors::instance_lock::{ExistingLock, InstanceLock};
use crate::connectors::outcome::{RoundOutcome, WriteMode};
use crate::connectors::report_spool::ReportSpool;
use crate::connectors::round::{RoundRunner, RoundSettings};
use crate::connectors::scheduler::SchedulerConnector;
use crate::connectors::slurm::settings::{SlurmSettings, TABLE, commented_example};
use crate::connectors::slurm::setup::{SetupReport, check_lock, check_setup};
use crate::connectors::slurm::{SlurmConnector, read_config};
use crate::service::{Clock, SystemClock};

type SlurmRunner = RoundRunner<SlurmConnector, ApiServer>;

pub async fn connect(flags: ConnectFlags, config: Config) -> CommandOutcome {
    if flags.print_config {
        print(commented_example().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut settings = SlurmSettings::read(config.connector_tables.get(TABLE))?;
    if let Err(reason) = check_slots(&settings.tres) {
        return Err(CommandFailure::Unusable(format!("[slurm] tres: {reason}")));
    }
    if flags.shadow {
        settings.mode = WriteMode::Shadow;
    }
    if flags.check {
        return check(&flags, &config, &settings).await;
    }
    if config.server.is_none() && !flags.reset {
        let detail = "a connector reports to a server: set server in the settings file, or give --server";
        return Err(CommandFailure::Unusable(detail.to_owned()));
    }
    let folder = settings.state_dir.display();
    let lock = InstanceLock::take(&settings.state_dir)
        .map_err(|error| CommandFailure::Unusable(format!("cannot use state_dir {folder}: {error}")))?;
    let Some(_lock) = lock else {
        eprint_line(&format!("error: another connector holds the lock in {folder}"));
        return Ok(ExitCode::from(EXIT_LOCKED));
    };
    // The lock is free again when the process ends.
    if flags.once || flags.reset {
        let outcome = if flags.reset { run_reset(settings).await? } else { run_once(&config, &settings).await? };
        print_outcome(&outcome, flags.output)?;
        return Ok(exit_code(outcome.is_ok()));
    }
    run_until_stopped(&config, &settings).await
}

async fn run_once(config: &Config, settings: &SlurmSettings) -> Result<RoundOutcome, CommandFailure> {
    match start_runner(api_server(config).await?, settings).await? {
        Ok(mut runner) => Ok(runner.run().await),
        Err(fault) => Ok(failed_start(settings, fault)),
    }
}

/// Takes everything back. A reset asks no server, and concerns the jobs of all partitions, so that a partition of the settings that
/// is gone does not stop it.
async fn run_reset(settings: SlurmSettings) -> Result<RoundOutcome, CommandFailure> {
    let settings = SlurmSettings { partitions: Vec::new(), ..settings };
    match start_runner((), &settings).await? {
        Ok(mut runner) => Ok(runner.reset().await),
        Err(fault) => Ok(failed_start(&settings, fault)),
    }
}

fn failed_start(settings: &SlurmSettings, fault: RoundFault) -> RoundOutcome {
    RoundOutcome { mode: settings.mode, errors: vec![fault], ..RoundOutcome::default() }
}

async fn api_server(config: &Config) -> Result<ApiServer, CommandFailure> {
    Ok(ApiServer::new(ApiClient::of(config).await?))
}

fn spool_max_bytes(settings: &SlurmSettings) -> u64 {
    u64::from(settings.spool_max_mb) << 20
}

/// The runner of rounds, or the reason why Slurm does not say which cluster it is.
async fn start_runner<F>(
    server: F,
    settings: &SlurmSettings,
) -> Result<Result<RoundRunner<SlurmConnector, F>, RoundFault>, CommandFailure> {
    let slurm = match read_config(settings).await {
        Ok(slurm) => slurm,
        Err(fault) => return Ok(Err(fault)),
    };
    let round = RoundSettings {
        mode: settings.mode,
        resource_group: settings.group_of(&slurm.cluster),
        cluster: slurm.cluster.clone(),
        head: settings.head,
        max_writes: settings.max_writes,
        writes_per_second: settings.writes_per_second,
        accounting_interval: settings.accounting,
        nodes_interval: settings.nodes,
        tree_interval: settings.tree,
        stale_after: settings.stale_after,
        state_dir: settings.state_dir.clone(),
        spool_max_bytes: spool_max_bytes(settings),
    };
    let connector = SlurmConnector::new(settings.clone(), slurm, convert_runs);
    let runner = RoundRunner::new(connector, server, Arc::new(SystemClock), round);
    let unusable = |error| CommandFailure::Unusable(format!("cannot read the state of the connector: {error}"));
    Ok(Ok(runner.map_err(unusable)?))
}

/// Rounds until SIGTERM. The round that runs then is ended first.
async fn run_until_stopped(config: &Config, settings: &SlurmSettings) -> CommandOutcome {
    let mut signals = StopSignals::listen()?;
    let clock = Arc::new(SystemClock);
    let monitor = Arc::new(ConnectorMonitor::new(SlurmConnector::KIND, settings.mode, settings.poll, clock));
    // The port is open until this function returns.
    let _port = match settings.metrics_listen {
        Some(address) => Some(serve_monitor(address, Arc::clone(&monitor)).await?),
        None => None,
    };
    let spool = ReportSpool::new(&settings.state_dir, spool_max_bytes(settings));
    let (mut runner, mut log): (Option<SlurmRunner>, _) = (None, OutcomeLog::default());
    loop {
        let start = SystemClock.steady();
        let round = async {
            let outcome = match &mut runner {
                Some(runner) => runner.run().await,
                None => match start_runner(api_server(config).await?, settings).await? {
                    Ok(started) => runner.insert(started).run().await,
                    Err(fault) => failed_start(settings, fault),
                },
            };
            log.note(&outcome);
            monitor.record_round(&outcome, spool.bytes());
            Ok::<(), CommandFailure>(())
        };
        tokio::pin!(round);
        let is_stopped = tokio::select! {
            outcome = &mut round => {
                outcome?;
                false
            }
            () = signals.next() => true,
        };
        if is_stopped {
            round.await?;
            return Ok(ExitCode::SUCCESS);
        }
        let wait: Duration = settings.poll.saturating_sub(SystemClock.steady().saturating_sub(start));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = signals.next() => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn print_outcome(outcome: &RoundOutcome, output: ConnectOutput) -> Result<(), CommandFailure> {
    match output {
        ConnectOutput::Table => print(&outcome.line()),
        ConnectOutput::Json => print_json(outcome),
    }
}

/// Makes the checks. Faults of the settings that `--check` is meant to find do not end it early.
async fn check(flags: &ConnectFlags, config: &Config, settings: &SlurmSettings) -> CommandOutcome {
    let server = match &config.server {
        Some(_) => Some(api_server(config).await?),
        None => None,
    };
    let user = system_user();
    // The lock is held until all checks are made, because one of them writes.
    let lock = InstanceLock::take_existing(&settings.state_dir);
    let is_lock_free = matches!(lock, Ok(ExistingLock::Taken(_) | ExistingLock::Missing));
    let mut report = check_setup(settings, server.as_ref(), &user, is_lock_free, || SystemClock.now()).await;
    report.add(match &lock {
        Ok(_) => check_lock(is_lock_free, &settings.state_dir.display().to_string()),
        Err(error) => check_lock_folder(error, settings),
    });
    print_report(&report, flags.output)?;
    Ok(exit_code(report.ok))
}

fn check_lock_folder(error: &std::io::Error, settings: &SlurmSettings) -> crate::connectors::setup_check::SetupCheck {
    let folder = settings.state_dir.display();
    let fix = format!("make {folder} a folder of the connector's user, or set state_dir");
    crate::connectors::setup_check::SetupCheck::failed("lock", format!("cannot use {folder}: {error}"), fix)
}

fn print_report(report: &SetupReport, output: ConnectOutput) -> Result<(), CommandFailure> {
    if output == ConnectOutput::Json {
        return print_json(report);
    }
    let rows = report.checks.iter().map(|check| {
        let result = if check.ok { "ok" } else { "failed" };
        json!({"check": check.name, "result": result, "level": check.level, "detail": check.detail, "fix": check.fix})
    });
    print_list(crate::cli::output::OutputFormat::Table, &["check", "result", "level", "detail", "fix"], rows)?;
    print("")?;
    print_list(
        crate::cli::output::OutputFormat::Table,
        &["account", "domain", "project", "weight"],
        &report.mapping.accounts,
    )?;
    print("")?;
    print_list(crate::cli::output::OutputFormat::Table, &["partition", "tier", "ordered"], &report.mapping.partitions)
}
