//! The endpoints in this process, over the database of the settings: without a port, a key, jobs or migrations.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cli::failure::CommandFailure;
use crate::cli::open;
use crate::config::Config;
use crate::jobs::JobRunner;
use crate::rest::RequestLimits;
use crate::server::ServerApp;
use crate::service::Service;

/// Longer than any request takes.
const UNLIMITED_TIME: Duration = Duration::from_secs(u32::MAX as u64);

/// The limits of requests of a command. They are the largest possible ones, because a command keeps no other client
/// waiting.
pub const UNLIMITED_REQUESTS: RequestLimits =
    RequestLimits { body_bytes: usize::MAX, bulk_bytes: usize::MAX, timeout: UNLIMITED_TIME, silence: UNLIMITED_TIME };

/// The service of the command. It is kept to the end of the process, because then the system releases its memory at
/// once, which is faster than dropping it.
static COMMAND_SERVICE: OnceLock<Arc<Service>> = OnceLock::new();

/// The service over a database with the schema of this version.
pub async fn open(config: &Config) -> Result<ServerApp, CommandFailure> {
    let service = open::service(config).await?;
    // A command opens only one database.
    let _ = COMMAND_SERVICE.set(Arc::clone(&service));
    let jobs = JobRunner::new(Arc::clone(&service), open::job_settings(config));
    Ok(ServerApp { limits: UNLIMITED_REQUESTS, ..ServerApp::new(service, jobs) })
}

/// Creates the database if it does not exist or is empty. A database of another version is left unchanged.
pub async fn create_database(config: &Config) -> Result<(), CommandFailure> {
    let store = open::connect(config).await?;
    if config.migrate_on_start && store.schema().await?.is_empty() {
        store.migrate_up().await?;
    }
    open::close(&store).await;
    Ok(())
}

/// Closes the database that a command had open.
pub async fn close() {
    if let Some(service) = COMMAND_SERVICE.get() {
        open::close(service.store()).await;
    }
}

/// The name of the caller in the audit log: the user of the system.
pub fn actor() -> String {
    format!("cli:{}", system_user())
}

/// The name of the user of the system; the number where there is no name.
pub fn system_user() -> String {
    whoami::username().unwrap_or_else(|_| rustix::process::getuid().as_raw().to_string())
}
