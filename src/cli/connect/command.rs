//! The work of `fairshared connect`, whichever the scheduler is: one round, rounds until a signal, checks, and taking back.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::monitor_server::serve_monitor;
use super::outcome_log::OutcomeLog;
use super::{ConnectFlags, ConnectOutput, EXIT_LOCKED, exit_code};
use crate::cli::client::{open_client, system_user};
use crate::cli::failure::{CommandFailure, CommandOutcome, eprint_line};
use crate::cli::output::{OutputFormat, print, print_json, print_list};
use crate::cli::running_server::StopSignals;
use crate::config::Config;
use crate::connectors::api_server::ApiServer;
use crate::connectors::common_settings::CommonSettings;
use crate::connectors::connector_monitor::ConnectorMonitor;
use crate::connectors::fault::RoundFault;
use crate::connectors::instance_lock::{ExistingLock, InstanceLock};
use crate::connectors::outcome::RoundOutcome;
use crate::connectors::report_spool::ReportSpool;
use crate::connectors::round::{RoundRunner, RoundSettings};
use crate::connectors::scheduler::SchedulerConnector;
use crate::connectors::server_checks::check_lock;
use crate::connectors::setup_check::{SetupCheck, SetupReport};
use crate::domain::connectors::ConnectorMode;
use crate::service::{Clock, SystemClock};

/// The settings of the connector of one scheduler, and what the command does with them.
pub trait SchedulerSettings: Sized {
    type Connector: SchedulerConnector;
    /// The part of a report of `--check` that is about the scheduler.
    type Facts: Serialize;

    /// The settings file with comments.
    fn commented_example() -> String;

    /// Reads the table of the settings file.
    fn read(config: &Config) -> Result<Self, CommandFailure>;

    /// The settings that every connector has.
    fn common(&self) -> &CommonSettings;

    fn common_mut(&mut self) -> &mut CommonSettings;

    /// The settings with which everything is taken back.
    fn for_reset(self) -> Self {
        self
    }

    /// Asks the scheduler which cluster it is, and makes the connector.
    fn start(&self) -> impl Future<Output = Result<(Self::Connector, RoundSettings), RoundFault>>;

    /// Makes all checks but that of the lock. `is_lock_free` is true if no other connector runs.
    fn check(
        &self,
        server: Option<&ApiServer>,
        user: &str,
        is_lock_free: bool,
    ) -> impl Future<Output = SetupReport<Self::Facts>>;

    /// Prints how the scheduler is mapped.
    fn print_mapping(facts: &Self::Facts) -> Result<(), CommandFailure>;
}

type Runner<S, F> = RoundRunner<<S as SchedulerSettings>::Connector, F>;

pub async fn connect<S: SchedulerSettings>(flags: ConnectFlags, config: Config) -> CommandOutcome {
    if flags.print_config {
        print(S::commented_example().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut settings = S::read(&config)?;
    if flags.shadow {
        settings.common_mut().mode = ConnectorMode::Shadow;
    }
    if flags.check {
        return check(&flags, &config, &settings).await;
    }
    if config.server.is_none() && !flags.reset {
        let detail = "a connector reports to a server: set server in the settings file, or give --server";
        return Err(CommandFailure::Unusable(detail.to_owned()));
    }
    let folder = settings.common().state_dir.display();
    let lock = InstanceLock::take(&settings.common().state_dir)
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

async fn run_once<S: SchedulerSettings>(config: &Config, settings: &S) -> Result<RoundOutcome, CommandFailure> {
    match start_runner(api_server(config).await?, settings).await? {
        Ok(mut runner) => Ok(runner.run().await),
        Err(fault) => Ok(failed_start(settings, fault)),
    }
}

/// Takes everything back. A reset asks no server.
async fn run_reset<S: SchedulerSettings>(settings: S) -> Result<RoundOutcome, CommandFailure> {
    let settings = settings.for_reset();
    match start_runner((), &settings).await? {
        Ok(mut runner) => Ok(runner.reset().await),
        Err(fault) => Ok(failed_start(&settings, fault)),
    }
}

fn failed_start(settings: &impl SchedulerSettings, fault: RoundFault) -> RoundOutcome {
    RoundOutcome { mode: settings.common().mode, errors: vec![fault], ..RoundOutcome::default() }
}

async fn api_server(config: &Config) -> Result<ApiServer, CommandFailure> {
    Ok(ApiServer::new(open_client(config).await?))
}

/// The runner of rounds, or the reason why the scheduler does not say which cluster it is.
async fn start_runner<S: SchedulerSettings, F>(
    server: F,
    settings: &S,
) -> Result<Result<Runner<S, F>, RoundFault>, CommandFailure> {
    let (connector, round) = match settings.start().await {
        Ok(started) => started,
        Err(fault) => return Ok(Err(fault)),
    };
    let runner = RoundRunner::new(connector, server, Arc::new(SystemClock), round);
    let unusable = |error| CommandFailure::Unusable(format!("cannot read the state of the connector: {error}"));
    Ok(Ok(runner.map_err(unusable)?))
}

/// Rounds until SIGTERM. The round that runs then is ended first.
async fn run_until_stopped<S: SchedulerSettings>(config: &Config, settings: &S) -> CommandOutcome {
    let mut signals = StopSignals::listen()?;
    let (kind, clock) = (S::Connector::KIND, Arc::new(SystemClock));
    let monitor = Arc::new(ConnectorMonitor::new(kind, settings.common().mode, settings.common().poll, clock));
    // The port is open until this function returns.
    let _port = match settings.common().metrics_listen {
        Some(address) => Some(serve_monitor(address, Arc::clone(&monitor)).await?),
        None => None,
    };
    let spool = ReportSpool::new(&settings.common().state_dir, settings.common().spool_max_bytes());
    let (mut runner, mut log): (Option<Runner<S, ApiServer>>, _) = (None, OutcomeLog::default());
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
        let wait: Duration = settings.common().poll.saturating_sub(SystemClock.steady().saturating_sub(start));
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
async fn check<S: SchedulerSettings>(flags: &ConnectFlags, config: &Config, settings: &S) -> CommandOutcome {
    let server = match &config.server {
        Some(_) => Some(api_server(config).await?),
        None => None,
    };
    let user = system_user();
    // The lock is held until all checks are made, because one of them may write.
    let lock = InstanceLock::take_existing(&settings.common().state_dir);
    let is_lock_free = matches!(lock, Ok(ExistingLock::Taken(_) | ExistingLock::Missing));
    let mut report = settings.check(server.as_ref(), &user, is_lock_free).await;
    let folder = settings.common().state_dir.display();
    report.add(match &lock {
        Ok(_) => check_lock(is_lock_free, &folder.to_string()),
        Err(error) => {
            let fix = format!("make {folder} a folder of the connector's user, or set state_dir");
            SetupCheck::failed("lock", format!("cannot use {folder}: {error}"), fix)
        }
    });
    if flags.output == ConnectOutput::Json {
        print_json(&report)?;
    } else {
        print_checks(&report.checks)?;
        S::print_mapping(&report.scheduler)?;
    }
    Ok(exit_code(report.ok))
}

fn print_checks(checks: &[SetupCheck]) -> Result<(), CommandFailure> {
    let rows = checks.iter().map(|check| {
        let result = if check.ok { "ok" } else { "failed" };
        json!({"check": check.name, "result": result, "level": check.level, "detail": check.detail, "fix": check.fix})
    });
    print_list(OutputFormat::Table, &["check", "result", "level", "detail", "fix"], rows)
}

/// Prints a table of a mapping below what was printed before.
pub fn print_table<T: Serialize>(columns: &[&str], rows: impl IntoIterator<Item = T>) -> Result<(), CommandFailure> {
    print("")?;
    print_list(OutputFormat::Table, columns, rows)
}

/// Prints the slots of a scheduler's resources.
pub fn print_resources(slots: &BTreeMap<String, String>) -> Result<(), CommandFailure> {
    print_table(&["resource", "slot"], slots.iter().map(|(resource, slot)| json!({"resource": resource, "slot": slot})))
}
