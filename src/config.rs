//! Settings: flags override the environment, which overrides the file, which overrides the defaults. An unknown setting is
//! refused by name.

mod injected;
mod origins;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use axum::http::uri::Scheme;
use axum::http::{HeaderValue, Uri};

use crate::connectors::setting_values::ConnectorTable;
use crate::connectors::{htcondor, kueue, slurm};
use crate::domain::job_schedule::JobSchedule;
use crate::domain::spelling::nearest_name_hint;
use crate::store::CommitDurability;
use crate::store::address::DatabaseAddress;

/// One setting, under its name in the file. Its variable is `FAIRSHARED_` and the name in capitals.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub key: &'static str,
    pub default: &'static str,
    pub about: &'static str,
}

/// All settings; `.env.example` lists them.
pub const SETTINGS: [Setting; 36] = [
    Setting {
        key: "database_url",
        default: "sqlite://fairshared.db",
        about: "sqlite://FILE or postgres://USER:PASSWORD@HOST/NAME",
    },
    Setting {
        key: "sqlite_synchronous",
        default: "full",
        about: "what a commit waits for on SQLite: full, for the disk; normal, which a power cut may undo",
    },
    Setting { key: "listen", default: "127.0.0.1:8080", about: "address and port that `serve` listens on" },
    Setting {
        key: "public_url",
        default: "",
        about: "address at which browsers find `serve` behind a proxy, like https://example.org/fairshared; empty: as it is asked",
    },
    Setting {
        key: "cors_origins",
        default: "",
        about: "origins of other servers' pages that may use the API from a browser, between commas; empty: none",
    },
    Setting {
        key: "log",
        default: "info",
        about: "what is logged to standard error, as a tracing filter such as info,fairshared::jobs=debug",
    },
    Setting { key: "log_format", default: "text", about: "text or json" },
    Setting { key: "max_body_bytes", default: "16777216", about: "largest body of an ordinary request to `serve`" },
    Setting {
        key: "max_bulk_bytes",
        default: "268435456",
        about: "largest body of a sequence or a simulation; reports of kernels have no limit as a whole",
    },
    Setting {
        key: "max_bodies_bytes",
        default: "0",
        about: "bytes of memory for the bodies of all requests in flight, and for answers that are not read yet as many \
                again; 0: a quarter of what the process may use",
    },
    Setting {
        key: "max_requests_per_key",
        default: "64",
        about: "requests of one key that are answered at the same time, without sequences and reports of kernels",
    },
    Setting {
        key: "max_requests_per_second",
        default: "200",
        about: "requests in a second of one key with the role viewer or user; 0: any number",
    },
    Setting { key: "request_timeout_seconds", default: "60", about: "how long `serve` works on an ordinary request" },
    Setting { key: "max_connections", default: "4096", about: "connections that `serve` has open at once" },
    Setting {
        key: "head_timeout_seconds",
        default: "10",
        about: "how long the head of a request may take to reach `serve`",
    },
    Setting {
        key: "idle_timeout_seconds",
        default: "75",
        about: "how long a connection may wait for its next request, or for its client to go on reading an answer",
    },
    Setting {
        key: "stream_silence_seconds",
        default: "60",
        about: "how long a body that lists kernels or workloads may bring nothing",
    },
    Setting {
        key: "schedule_aggregate",
        default: "* * * * * *",
        about: "when the job `aggregate` may start, as a cron expression with seconds in UTC; it runs in a group once its slice_interval_seconds have passed; empty: only on request",
    },
    Setting {
        key: "schedule_divide",
        default: "* * * * * *",
        about: "when the job `divide` may start, as a cron expression with seconds in UTC; it runs in a group once its slice_interval_seconds have passed; empty: only on request",
    },
    Setting {
        key: "schedule_forecast",
        default: "0 * * * * *",
        about: "when the job `forecast` starts, as a cron expression with seconds in UTC; empty: only on request",
    },
    Setting {
        key: "schedule_compact",
        default: "0 0 * * * *",
        about: "when the job `compact` starts, as a cron expression with seconds in UTC; empty: only on request",
    },
    Setting {
        key: "schedule_purge",
        default: "0 0 3 * * *",
        about: "when the job `purge` starts, as a cron expression with seconds in UTC; empty: only on request",
    },
    Setting {
        key: "schedule_tidy",
        default: "0 30 2 * * *",
        about: "when the job `tidy` starts, as a cron expression with seconds in UTC; empty: only on request",
    },
    Setting {
        key: "schedule_rebuild",
        default: "",
        about: "when the job `rebuild` starts, as a cron expression with seconds in UTC; empty: only on request",
    },
    Setting {
        key: "keep_buckets_days",
        default: "1100",
        about: "days for which the job `purge` keeps usage buckets, never less than the longest look-back",
    },
    Setting {
        key: "keep_kernels_days",
        default: "0",
        about: "days for which the job `purge` keeps ended kernels, never less than the longest look-back; 0: that and a week",
    },
    Setting {
        key: "keep_history_days",
        default: "400",
        about: "days for which the job `purge` keeps the history of fairness, factors and ranks",
    },
    Setting {
        key: "raw_days",
        default: "3",
        about: "days after which the job `compact` puts the usage records of a day together",
    },
    Setting {
        key: "wait_for_database_seconds",
        default: "60",
        about: "how long `serve` waits at start for a database that does not answer; 0: not at all",
    },
    Setting {
        key: "key_grace_seconds",
        default: "86400",
        about: "how long `serve` believes keys while the database is out of reach; 0: without limit",
    },
    Setting {
        key: "keep_audit_days",
        default: "90",
        about: "days for which the audit log keeps what it counts of ingests; other entries are kept for ever",
    },
    Setting {
        key: "migrate_on_start",
        default: "true",
        about: "whether `serve` applies missing migrations: true or false",
    },
    Setting {
        key: "server",
        default: "",
        about: "address of the server that commands ask, like https://fairshared.example.org; empty: the database",
    },
    Setting { key: "key", default: "", about: "key that commands show to the server" },
    Setting {
        key: "key_file",
        default: "",
        about: "file with the key that commands show to the server, if `key` is empty",
    },
    Setting {
        key: "ca_file",
        default: "",
        about: "file with the certificate authorities (PEM) of the server; empty: those of the system",
    },
];

const VARIABLE_PREFIX: &str = "FAIRSHARED_";
/// The variable that names the configuration file.
pub const CONFIG_VARIABLE: &str = "FAIRSHARED_CONFIG";

impl Setting {
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.key.to_uppercase())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub database_url: String,
    pub sqlite_synchronous: CommitDurability,
    pub listen: SocketAddr,
    /// The address of the server for browsers, if it is not the one that requests name.
    pub public_url: Option<Uri>,
    /// The origins of other servers whose pages may use the API from a browser.
    pub cors_origins: Vec<HeaderValue>,
    pub log: String,
    /// True if a flag, a variable or the file sets the log; otherwise it is the default.
    pub log_chosen: bool,
    pub log_format: LogFormat,
    pub max_body_bytes: usize,
    pub max_bulk_bytes: usize,
    /// 0: a quarter of the memory that the process may use.
    pub max_bodies_bytes: usize,
    pub max_requests_per_key: usize,
    /// 0: no limit.
    pub max_requests_per_second: u32,
    pub request_timeout_seconds: u64,
    pub max_connections: usize,
    pub head_timeout_seconds: u64,
    pub idle_timeout_seconds: u64,
    pub stream_silence_seconds: u64,
    /// `None`: the job runs only on request. The same holds for the other schedules.
    pub schedule_aggregate: Option<JobSchedule>,
    pub schedule_divide: Option<JobSchedule>,
    pub schedule_forecast: Option<JobSchedule>,
    pub schedule_compact: Option<JobSchedule>,
    pub schedule_purge: Option<JobSchedule>,
    pub schedule_tidy: Option<JobSchedule>,
    pub schedule_rebuild: Option<JobSchedule>,
    pub keep_buckets_days: u32,
    /// 0: the longest look-back and a week.
    pub keep_kernels_days: u32,
    pub keep_history_days: u32,
    pub raw_days: u32,
    /// 0: no wait.
    pub wait_for_database_seconds: u32,
    /// 0: no limit.
    pub key_grace_seconds: u32,
    pub keep_audit_days: u32,
    pub migrate_on_start: bool,
    /// The server to which commands send requests, in place of using the database.
    pub server: Option<Uri>,
    /// The key, from `key` or else from the file that `key_file` names.
    pub key: Option<String>,
    pub ca_file: Option<PathBuf>,
    /// True if a flag names the database.
    pub database_is_flag: bool,
    /// The tables of the file that belong to connectors, by name. Only the connector of a table checks its keys.
    pub connector_tables: BTreeMap<&'static str, ConnectorTable>,
    /// Variables of the environment that look like settings and are set by Kubernetes.
    pub injected: Vec<String>,
}

/// The names of the tables in the file that belong to connectors.
const CONNECTOR_TABLES: [&str; 3] = [htcondor::settings::TABLE, kueue::settings::TABLE, slurm::settings::TABLE];

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{0} is not a setting of fairshared{nearest}", nearest = nearest_name_hint(.0, &known_variables(), VARIABLE_PREFIX))]
    UnknownVariable(String),
    #[error("{}: {key} is not a setting of fairshared{nearest}", file.display(), nearest = nearest_name_hint(key, &known_keys(), VARIABLE_PREFIX))]
    UnknownKey { file: PathBuf, key: String },
    #[error("cannot read the configuration file {}: {detail}", file.display())]
    File { file: PathBuf, detail: String },
    #[error("{source_name}: {detail}")]
    Value { source_name: String, detail: String },
}

fn known_variables() -> Vec<String> {
    SETTINGS.iter().map(Setting::variable).chain([CONFIG_VARIABLE.to_owned()]).collect()
}

fn known_keys() -> Vec<String> {
    SETTINGS.iter().map(|s| s.key.to_owned()).collect()
}

/// Values by key, each with its origin.
type ConfigValues = BTreeMap<&'static str, (String, String)>;

impl Config {
    /// Merges `flags` (key and value), the variables of `environment`, the file that `config_flag` or the environment names,
    /// and the defaults; the former override the latter.
    pub fn settle(
        flags: &[(&'static str, String)],
        config_flag: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let environment = EnvironmentSettings::read(environment)?;
        let file = config_flag.map(Path::to_owned).or(environment.file);
        let mut values = ConfigValues::new();
        for setting in &SETTINGS {
            values.insert(setting.key, (setting.default.to_owned(), setting.key.to_owned()));
        }
        let mut connector_tables = BTreeMap::new();
        if let Some(file) = file {
            let found = read_file(&file)?;
            values.extend(found.values);
            connector_tables = found.connector_tables;
        }
        values.extend(environment.values);
        let is_flag = |key: &str| flags.iter().any(|(flag, _)| *flag == key);
        let database_is_flag = is_flag("database_url");
        if database_is_flag && !is_flag("server") {
            // A flag that names a database overrides a server that the environment names.
            values.insert("server", (String::new(), "server".to_owned()));
        }
        values.extend(flags.iter().map(|(key, value)| (*key, (value.clone(), format!("--{}", key.replace('_', "-"))))));
        let settled = Self::from_values(&values)?;
        Ok(Self { injected: environment.injected, database_is_flag, connector_tables, ..settled })
    }

    fn from_values(values: &ConfigValues) -> Result<Self, ConfigError> {
        Ok(Self {
            database_url: read(values, "database_url", |text| check_url(text).map(|()| text.to_owned()))?,
            sqlite_synchronous: read(values, "sqlite_synchronous", str::parse)?,
            listen: read(values, "listen", |text| {
                text.parse().map_err(|_| format!("{text:?} is not an address and port like 127.0.0.1:8080"))
            })?,
            log: read(values, "log", |text| match text.parse::<tracing_subscriber::EnvFilter>() {
                Ok(_) => Ok(text.to_owned()),
                Err(error) => Err(format!("{text:?} is not a log filter: {error}")),
            })?,
            log_chosen: values.get("log").is_some_and(|(_, from)| from != "log"),
            log_format: read(values, "log_format", |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                _ => Err(format!("{text:?} is neither text nor json")),
            })?,
            max_body_bytes: read(values, "max_body_bytes", positive_number)?,
            max_bulk_bytes: read(values, "max_bulk_bytes", positive_number)?,
            max_bodies_bytes: read(values, "max_bodies_bytes", |text| {
                text.parse().map_err(|_| format!("{text:?} is not a whole number of bytes"))
            })?,
            max_requests_per_key: read(values, "max_requests_per_key", positive_number)?,
            max_requests_per_second: read(values, "max_requests_per_second", whole_number)?,
            request_timeout_seconds: read(values, "request_timeout_seconds", positive_number)?,
            max_connections: read(values, "max_connections", positive_number)?,
            head_timeout_seconds: read(values, "head_timeout_seconds", positive_number)?,
            idle_timeout_seconds: read(values, "idle_timeout_seconds", positive_number)?,
            stream_silence_seconds: read(values, "stream_silence_seconds", positive_number)?,
            schedule_aggregate: read_filled(values, "schedule_aggregate", str::parse)?,
            schedule_divide: read_filled(values, "schedule_divide", str::parse)?,
            schedule_forecast: read_filled(values, "schedule_forecast", str::parse)?,
            schedule_compact: read_filled(values, "schedule_compact", str::parse)?,
            schedule_purge: read_filled(values, "schedule_purge", str::parse)?,
            schedule_tidy: read_filled(values, "schedule_tidy", str::parse)?,
            schedule_rebuild: read_filled(values, "schedule_rebuild", str::parse)?,
            keep_buckets_days: read(values, "keep_buckets_days", positive_number)?,
            keep_kernels_days: read(values, "keep_kernels_days", whole_number)?,
            keep_history_days: read(values, "keep_history_days", positive_number)?,
            raw_days: read(values, "raw_days", positive_number)?,
            wait_for_database_seconds: read(values, "wait_for_database_seconds", whole_number)?,
            key_grace_seconds: read(values, "key_grace_seconds", whole_number)?,
            keep_audit_days: read(values, "keep_audit_days", positive_number)?,
            migrate_on_start: read(values, "migrate_on_start", |text| {
                text.parse().map_err(|_| format!("{text:?} is neither true nor false"))
            })?,
            public_url: read_filled(values, "public_url", server)?,
            cors_origins: read(values, "cors_origins", origins::read)?,
            server: read_filled(values, "server", server)?,
            key: match read_filled(values, "key", |text| Ok(text.to_owned()))? {
                Some(key) => Some(key),
                None => read_filled(values, "key_file", read_key)?,
            },
            ca_file: read_filled(values, "ca_file", |text| Ok(PathBuf::from(text)))?,
            database_is_flag: false,
            connector_tables: BTreeMap::new(),
            injected: Vec::new(),
        })
    }
}

fn read<T>(values: &ConfigValues, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, ConfigError> {
    let (text, source_name) = values.get(key).cloned().unwrap_or_default();
    parse(&text).map_err(|detail| ConfigError::Value { source_name, detail })
}

/// Reads a setting that may be empty.
fn read_filled<T>(
    values: &ConfigValues,
    key: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, ConfigError> {
    read(values, key, |text| if text.is_empty() { Ok(None) } else { parse(text).map(Some) })
}

fn positive_number<T: TryFrom<u32>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u32>().ok().filter(|n| *n > 0).and_then(|n| T::try_from(n).ok());
    number.ok_or_else(|| format!("{text:?} is not a whole number from 1 to {}", u32::MAX))
}

fn whole_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number from 0 to {}", u32::MAX))
}

/// The key in a file, which may end with a line end.
fn read_key(file: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let key = text.trim();
    if key.is_empty() { Err(format!("{file} is empty; it holds the key")) } else { Ok(key.to_owned()) }
}

fn check_url(url: &str) -> Result<(), String> {
    DatabaseAddress::parse(url).map(|_| ()).map_err(|error| error.to_string())
}

fn server(text: &str) -> Result<Uri, String> {
    let known = |uri: &Uri| {
        uri.scheme().is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS) && uri.query().is_none()
    };
    let address = text.parse().ok().filter(known);
    address.ok_or_else(|| format!("{text:?} is not the address of a server like https://fairshared.example.org"))
}

/// The settings in the environment.
#[derive(Default)]
struct EnvironmentSettings {
    values: ConfigValues,
    file: Option<PathBuf>,
    injected: Vec<String>,
}

impl EnvironmentSettings {
    fn read(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, ConfigError> {
        let mut found = Self::default();
        let mut variables = BTreeMap::new();
        for (name, value) in environment {
            let name = name.to_string_lossy().into_owned();
            if name == CONFIG_VARIABLE {
                found.file = Some(PathBuf::from(value));
            } else if name.starts_with(VARIABLE_PREFIX) {
                variables.insert(name, value.into_string().ok());
            }
        }
        let services = injected::services(&variables);
        for (name, value) in variables {
            match SETTINGS.iter().find(|setting| setting.variable() == name) {
                Some(setting) => found.set(setting, name, value)?,
                None if services.iter().any(|service| injected::is_set_for(&name, service)) => {
                    found.injected.push(name);
                }
                None => return Err(ConfigError::UnknownVariable(name)),
            }
        }
        Ok(found)
    }

    fn set(&mut self, setting: &Setting, name: String, value: Option<String>) -> Result<(), ConfigError> {
        let Some(value) = value else {
            let detail = "the value is not UTF-8 text".to_owned();
            return Err(ConfigError::Value { source_name: name, detail });
        };
        self.values.insert(setting.key, (value, name));
        Ok(())
    }
}

/// The settings in a file.
struct FileSettings {
    values: ConfigValues,
    connector_tables: BTreeMap<&'static str, ConnectorTable>,
}

fn read_file(file: &Path) -> Result<FileSettings, ConfigError> {
    let fault = |detail: String| ConfigError::File { file: file.to_owned(), detail };
    let text = std::fs::read_to_string(file).map_err(|e| fault(e.to_string()))?;
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| fault(one_line(&e, &text)))?;
    let (mut values, mut connector_tables) = (ConfigValues::new(), BTreeMap::new());
    for (key, value) in table {
        if let Some(name) = CONNECTOR_TABLES.iter().find(|name| **name == key)
            && let toml::Value::Table(values) = value
        {
            connector_tables.insert(*name, ConnectorTable { file: file.to_owned(), values });
            continue;
        }
        let Some(setting) = SETTINGS.iter().find(|s| s.key == key) else {
            return Err(ConfigError::UnknownKey { file: file.to_owned(), key });
        };
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(flag) => flag.to_string(),
            _ => return Err(fault(format!("{key} is neither a text nor a whole number nor true or false"))),
        };
        values.insert(setting.key, (text, format!("{}: {key}", file.display())));
    }
    Ok(FileSettings { values, connector_tables })
}

/// The parser's message with its line number, without the excerpt of the file.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line =
        error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1);
    format!("line {line}: {}", error.message().replace('\n', " "))
}
