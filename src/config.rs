//! Settings: flags over environment over file over defaults. What nobody knows is refused by name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// One setting, under its name in the file. The variable is `FAIRSHARED_` and the name in capitals.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub key: &'static str,
    pub default: &'static str,
    pub about: &'static str,
}

/// Every setting there is; `.env.example` shows them all.
pub const SETTINGS: [Setting; 9] = [
    Setting {
        key: "database_url",
        default: "sqlite://fairshared.db",
        about: "sqlite://FILE or postgres://USER:PASSWORD@HOST/NAME",
    },
    Setting { key: "listen", default: "127.0.0.1:8080", about: "address and port that `serve` listens on" },
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
        about: "largest body that lists kernels or workloads; a stream of NDJSON has no limit",
    },
    Setting { key: "request_timeout_seconds", default: "60", about: "how long `serve` works on an ordinary request" },
    Setting {
        key: "keep_buckets_days",
        default: "1100",
        about: "days for which the job `purge` keeps usage buckets, never less than the longest look-back",
    },
    Setting {
        key: "migrate_on_start",
        default: "true",
        about: "whether `serve` applies missing migrations: true or false",
    },
];

const PREFIX: &str = "FAIRSHARED_";
/// The variable that names the file.
pub const CONFIG_VARIABLE: &str = "FAIRSHARED_CONFIG";

impl Setting {
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.key.to_uppercase())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub database_url: String,
    pub listen: SocketAddr,
    pub log: String,
    /// Whether somebody asked for this log, rather than the default.
    pub log_chosen: bool,
    pub log_format: LogFormat,
    pub max_body_bytes: usize,
    pub max_bulk_bytes: usize,
    pub request_timeout_seconds: u64,
    pub keep_buckets_days: u32,
    pub migrate_on_start: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{0} is not a setting of fairshared; known are {known}", known = known_variables())]
    UnknownVariable(String),
    #[error("{}: {key} is not a setting of fairshared; known are {known}", file.display(), known = known_keys())]
    UnknownKey { file: PathBuf, key: String },
    #[error("cannot read the configuration file {}: {detail}", file.display())]
    File { file: PathBuf, detail: String },
    #[error("{source_name}: {detail}")]
    Value { source_name: String, detail: String },
}

fn known_variables() -> String {
    SETTINGS.iter().map(Setting::variable).chain([CONFIG_VARIABLE.to_owned()]).collect::<Vec<_>>().join(", ")
}

fn known_keys() -> String {
    SETTINGS.map(|s| s.key).join(", ")
}

/// Values by key, each with the place it comes from.
type Values = BTreeMap<&'static str, (String, String)>;

impl Config {
    /// Settles `flags` (key and value) over the variables of `environment` over the file that
    /// `config_flag` or the environment names over the defaults.
    pub fn settle(
        flags: &[(&'static str, String)],
        config_flag: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let (variables, config_variable) = read_environment(environment)?;
        let file = config_flag.map(Path::to_owned).or(config_variable);
        let mut values = Values::new();
        for setting in &SETTINGS {
            values.insert(setting.key, (setting.default.to_owned(), setting.key.to_owned()));
        }
        if let Some(file) = file {
            values.extend(read_file(&file)?);
        }
        values.extend(variables);
        values.extend(flags.iter().map(|(key, value)| (*key, (value.clone(), format!("--{}", key.replace('_', "-"))))));
        Self::from_values(&values)
    }

    fn from_values(values: &Values) -> Result<Self, ConfigError> {
        Ok(Self {
            database_url: read(values, "database_url", |text| check_url(text).map(|()| text.to_owned()))?,
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
            max_body_bytes: read(values, "max_body_bytes", positive)?,
            max_bulk_bytes: read(values, "max_bulk_bytes", positive)?,
            request_timeout_seconds: read(values, "request_timeout_seconds", positive)?,
            keep_buckets_days: read(values, "keep_buckets_days", positive)?,
            migrate_on_start: read(values, "migrate_on_start", |text| {
                text.parse().map_err(|_| format!("{text:?} is neither true nor false"))
            })?,
        })
    }
}

fn read<T>(values: &Values, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, ConfigError> {
    let (text, source_name) = values.get(key).cloned().unwrap_or_default();
    parse(&text).map_err(|detail| ConfigError::Value { source_name, detail })
}

fn positive<T: TryFrom<u32>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u32>().ok().filter(|n| *n > 0).and_then(|n| T::try_from(n).ok());
    number.ok_or_else(|| format!("{text:?} is not a whole number from 1 to {}", u32::MAX))
}

fn check_url(url: &str) -> Result<(), String> {
    if !["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err("a database address is sqlite://FILE or postgres://USER:PASSWORD@HOST/NAME".to_owned());
    }
    // Every connection would see a database of its own.
    if url.starts_with("sqlite:") && (url.contains(":memory:") || url.contains("mode=memory")) {
        return Err("an SQLite database lives in a file; one in memory cannot be shared".to_owned());
    }
    Ok(())
}

fn read_environment(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(Values, Option<PathBuf>), ConfigError> {
    let mut values = Values::new();
    let mut file = None;
    for (name, value) in environment {
        let name = name.to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) {
            continue;
        }
        if name == CONFIG_VARIABLE {
            file = Some(PathBuf::from(value));
            continue;
        }
        let Some(setting) = SETTINGS.iter().find(|s| s.variable() == name) else {
            return Err(ConfigError::UnknownVariable(name));
        };
        let value = value.into_string().map_err(|_| ConfigError::Value {
            source_name: name.clone(),
            detail: "the value is not UTF-8 text".to_owned(),
        })?;
        values.insert(setting.key, (value, name));
    }
    Ok((values, file))
}

fn read_file(file: &Path) -> Result<Values, ConfigError> {
    let fault = |detail: String| ConfigError::File { file: file.to_owned(), detail };
    let text = std::fs::read_to_string(file).map_err(|e| fault(e.to_string()))?;
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| fault(one_line(&e, &text)))?;
    let mut values = Values::new();
    for (key, value) in table {
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
    Ok(values)
}

/// The parser's message with its line, without the picture it draws.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line =
        error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1);
    format!("line {line}: {}", error.message().replace('\n', " "))
}
