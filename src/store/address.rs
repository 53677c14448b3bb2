//! Addresses of databases. An address is shown without its password, also if it cannot be read.

use sea_orm::sqlx::postgres::PgConnectOptions;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;

use super::{Result, StoreError};

pub enum DatabaseAddress {
    Sqlite(Box<SqliteConnectOptions>),
    Postgres(Box<PgConnectOptions>),
}

/// Parameters of a PostgreSQL address that the driver reads, in addition to `options[NAME]`.
const DRIVER_PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

impl DatabaseAddress {
    pub fn parse(url: &str) -> Result<Self> {
        if url.starts_with("sqlite:") {
            // Every connection would see a database of its own.
            if url.contains(":memory:") || url.contains("mode=memory") {
                return Err(fault("an SQLite database lives in a file; one in memory cannot be shared"));
            }
            let options = url.parse::<SqliteConnectOptions>();
            return options
                .map(|o| Self::Sqlite(Box::new(o)))
                .map_err(|e| fault(format!("the database address cannot be read: {e}")));
        }
        if !is_postgres(url) {
            return Err(fault("a database address is sqlite://FILE or postgres://USER:PASSWORD@HOST/NAME"));
        }
        let (options, ignored) = postgres(url)?;
        if !ignored.is_empty() {
            tracing::warn!(parameters = ignored.join(", "), "parameters of the database address that have no effect");
        }
        Ok(Self::Postgres(Box::new(options)))
    }
}

/// An address without its password and its parameters.
pub fn without_secrets(url: &str) -> String {
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    readable_address(url).unwrap_or_else(|| "postgres://…".to_owned())
}

/// `None`: the position of the password in the address is unclear.
fn readable_address(url: &str) -> Option<String> {
    postgres(url).ok().filter(|_| is_postgres(url))?;
    let (scheme, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next()?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user = login.split(':').next().filter(|user| !user.is_empty()).map(|user| format!("{user}@"));
    // An `@` after the host is part of a password that contains a separator.
    (!path.contains('@')).then(|| format!("{scheme}://{}{host}/{path}", user.unwrap_or_default()))
}

fn is_postgres(url: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))
}

/// The options of an address, and the names of its parameters that the driver does not know. They are taken out, because the
/// driver would log their values.
fn postgres(url: &str) -> Result<(PgConnectOptions, Vec<String>)> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut known = form_urlencoded::Serializer::new(String::new());
    let mut ignored = Vec::new();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        if DRIVER_PARAMETERS.contains(&&*key) || key.starts_with("options[") {
            known.append_pair(&key, &value);
        } else if !query.contains('@') {
            // A name with an `@` is left out, because it is the end of a password.
            ignored.push(key.into_owned());
        }
    }
    let options = format!("{base}?{}", known.finish()).parse::<PgConnectOptions>().map_err(|error| {
        fault(format!(
            "the database address postgres://… cannot be read: {error}; special characters of a password are written \
             as %XX"
        ))
    })?;
    Ok((options, ignored))
}

fn fault(detail: impl Into<String>) -> StoreError {
    StoreError::Address(detail.into())
}
