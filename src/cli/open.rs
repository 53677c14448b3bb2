//! Where commands find their database and their input.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::failure::Failure;
use crate::config::Config;
use crate::service::{Caller, Service, SystemClock};
use crate::store::Store;

/// Who changes something from the command line, in the audit log.
pub fn caller() -> Caller {
    Caller::internal("cli")
}

/// Connects; a missing `SQLite` file is created.
pub async fn connect(config: &Config) -> Result<Store, Failure> {
    Store::connect(&config.database_url)
        .await
        .map_err(|e| Failure::Failed(format!("cannot open the database {}: {}", shown(&config.database_url), e)))
}

/// Connects to a database that is there.
pub async fn connect_existing(config: &Config) -> Result<Store, Failure> {
    if let Some(file) = sqlite_file(&config.database_url)
        && !Path::new(file).exists()
    {
        return Err(Failure::Failed(format!(
            "there is no database {file}; `fairshared migrate up` or `fairshared serve` makes it"
        )));
    }
    connect(config).await
}

/// The service over a database whose schema is of this version.
pub async fn service(config: &Config) -> Result<Arc<Service>, Failure> {
    let store = connect_existing(config).await?;
    check_schema(&store, &config.database_url).await?;
    Ok(Service::new(store, Arc::new(SystemClock)).await?)
}

/// Refuses a database that lacks migrations.
pub async fn check_schema(store: &Store, url: &str) -> Result<(), Failure> {
    let (_, pending) = store.migration_status().await?;
    if pending.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the database {} lacks {} migrations; `fairshared migrate up` applies them",
        shown(url),
        pending.len()
    )))
}

/// The file behind an `SQLite` address.
fn sqlite_file(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("sqlite:")?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    Some(path.split('?').next().unwrap_or(path))
}

/// A database address without its password.
pub fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let Some((login, host)) = rest.rsplit_once('@') else { return url.to_owned() };
    let user = login.split(':').next().unwrap_or_default();
    format!("{scheme}://{user}@{host}")
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_input(name: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if name == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| Failure::unreadable("standard input", &e))?;
    } else {
        bytes = std::fs::read(name).map_err(|e| Failure::unreadable(&name.display().to_string(), &e))?;
    }
    Ok(bytes)
}
