//! Opens the database and the input files of commands.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::failure::CommandFailure;
use super::nouns::with_noun;
use crate::config::Config;
use crate::jobs::{JobSchedules, JobSettings};
use crate::service::input::json::BYTE_ORDER_MARK;
use crate::service::start::ServiceStart;
use crate::service::{Service, SystemClock};
pub use crate::store::address::without_secrets;
use crate::store::{ConnectionTrait, Store, StoreError};

/// The first and the longest pause between two attempts to reach a database at start.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The longest time in which a database must answer a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that closing the connections may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects; a missing `SQLite` file is created.
pub async fn connect(config: &Config) -> Result<Store, CommandFailure> {
    let failed = |detail: &str| format!("cannot open the database {}: {detail}", without_secrets(&config.database_url));
    let connecting = Store::connect_with(&config.database_url, config.sqlite_synchronous);
    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(Ok(store)) => Ok(store),
        Ok(Err(error @ StoreError::Address(_))) => Err(error.into()),
        Ok(Err(error)) if error.may_pass_soon() => Err(CommandFailure::Unreachable(failed(&error.to_string()))),
        Ok(Err(error)) => Err(CommandFailure::Failed(failed(&error.to_string()))),
        Err(_) => {
            Err(CommandFailure::Unreachable(failed(&format!("no answer within {} seconds", CONNECT_TIMEOUT.as_secs()))))
        }
    }
}

/// Connects to a database that must exist.
pub async fn connect_existing(config: &Config) -> Result<Store, CommandFailure> {
    if let Some(file) = sqlite_file(&config.database_url)
        && !Path::new(file).exists()
    {
        let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
        return Err(CommandFailure::Failed(format!(
            "there is no database {}; `fairshared migrate up` or `fairshared serve` makes it, and --database-url or \
             FAIRSHARED_DATABASE_URL names another",
            path.display()
        )));
    }
    connect(config).await
}

/// Closes a database, so that an `SQLite` file contains all writes without its log. Acknowledged writes are stored either
/// way.
pub async fn close(store: &Store) {
    match tokio::time::timeout(CLOSE_TIMEOUT, store.clone().close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the database was not closed cleanly"),
        Err(_) => tracing::warn!("the database was not closed cleanly: it does not answer"),
    }
}

/// The service of a command, over a database whose schema must be of this version. It needs no keys.
pub async fn service(config: &Config) -> Result<Arc<Service>, CommandFailure> {
    open_service(connect_existing(config).await?, config).await
}

async fn open_service(store: Store, config: &Config) -> Result<Arc<Service>, CommandFailure> {
    let start = ServiceStart::of(store).await?;
    check_schema(start.moment(), &config.database_url).await?;
    let service = start.service(Arc::new(SystemClock)).await?;
    service.set_keep_buckets_days(config.keep_buckets_days);
    Ok(service)
}

/// The service over a database that is created, or migrated to this version's schema, if necessary.
pub async fn open_new_service(config: &Config) -> Result<Arc<Service>, CommandFailure> {
    let store = connect(config).await?;
    if config.migrate_on_start {
        store.migrate_up().await?;
    }
    let service = open_service(store, config).await?;
    service.refresh_keys().await?;
    Ok(service)
}

/// Repeats `attempt` after growing pauses while the database does not answer, for at most `wait_for_database_seconds`. A
/// database that answers that it cannot be used is not waited for.
pub async fn retry_while_unreachable<T>(
    config: &Config,
    attempt: impl AsyncFn() -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let deadline = Instant::now() + Duration::from_secs(config.wait_for_database_seconds.into());
    let mut pause = FIRST_PAUSE;
    loop {
        let reason = match attempt().await {
            Err(CommandFailure::Unreachable(reason)) => reason,
            outcome => return outcome,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CommandFailure::Unreachable(reason));
        }
        let database = without_secrets(&config.database_url);
        tracing::warn!(database, reason, seconds_left = left.as_secs(), "waiting for the database");
        sleep(pause.min(left)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Refuses a database that lacks migrations.
pub async fn check_schema(db: &impl ConnectionTrait, url: &str) -> Result<(), CommandFailure> {
    let lacking = Store::schema_of(db).await?.pending.len();
    if lacking == 0 {
        return Ok(());
    }
    let (lacks, them) = (migrations(lacking), if lacking == 1 { "it" } else { "them" });
    let shown = without_secrets(url);
    Err(CommandFailure::Failed(format!("the database {shown} lacks {lacks}; `fairshared migrate up` applies {them}")))
}

/// The number of migrations, as messages show it.
pub fn migrations(count: usize) -> String {
    with_noun(count as u64, "migration", "migrations")
}

pub fn is_sqlite(url: &str) -> bool {
    sqlite_file(url).is_some()
}

/// The file behind an `SQLite` address.
fn sqlite_file(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("sqlite:")?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    Some(path.split('?').next().unwrap_or(path))
}

/// The name of a file in messages; standard input for `-`.
pub fn input_name(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}

/// The bytes of a file, or of standard input for `-`, without a byte order mark.
pub fn read_input(file: &Path) -> Result<Vec<u8>, CommandFailure> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let mut bytes = read.map_err(|e| CommandFailure::unreadable(&input_name(file), &e))?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// The settings of the jobs in the configuration.
pub fn job_settings(config: &Config) -> JobSettings {
    JobSettings {
        schedules: JobSchedules {
            aggregate: config.schedule_aggregate.clone(),
            divide: config.schedule_divide.clone(),
            forecast: config.schedule_forecast.clone(),
            rebuild: config.schedule_rebuild.clone(),
            compact: config.schedule_compact.clone(),
            purge: config.schedule_purge.clone(),
            tidy: config.schedule_tidy.clone(),
        },
        keep_buckets_days: config.keep_buckets_days,
        keep_audit_days: config.keep_audit_days,
        keep_kernels_days: config.keep_kernels_days,
        keep_history_days: config.keep_history_days,
        raw_days: config.raw_days,
    }
}
