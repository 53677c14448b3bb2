//! The table `[htcondor]` of the settings file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{ConfigError, ConnectorTable};
use crate::connectors::metrics_address::{METRICS_LISTEN_ABOUT, METRICS_LISTEN_DEFAULT, read_metrics_address};
use crate::connectors::outcome::WriteMode;
use crate::connectors::setting_values::{
    SettingEntry, commented_table, parse_duration, parse_mode, parse_number, parse_slots, parse_text, parse_texts,
    set_keys, unknown_key,
};

/// The name of the table.
pub const TABLE: &str = "htcondor";

/// All keys of the table.
pub const HTCONDOR_SETTINGS: [SettingEntry; 17] = [
    SettingEntry {
        key: "cluster",
        default: "",
        about: "the name of the pool; by default its central manager, CONDOR_HOST",
    },
    SettingEntry {
        key: "resource_group",
        default: "",
        about: "the resource group that it reports to; by default the name of the pool",
    },
    SettingEntry {
        key: "mode",
        default: "\"shadow\"",
        about: "shadow writes nothing to HTCondor; factor writes the priority factor of each user by the rank",
    },
    SettingEntry {
        key: "schedds",
        default: "[]",
        about: "the access points whose jobs are read, by the names of condor_status -schedd; empty: the one of this machine",
    },
    SettingEntry { key: "head", default: "200", about: "how many jobs are ordered and compared in the mode shadow" },
    SettingEntry {
        key: "factor_spread",
        default: "1000",
        about: "factor: how many times the default factor the last rank gets; the first has the default",
    },
    SettingEntry { key: "max_writes", default: "500", about: "factors that one round writes at most" },
    SettingEntry { key: "writes_per_second", default: "20", about: "factors that one second writes at most" },
    SettingEntry { key: "poll", default: "\"1m\"", about: "how often condor_q and condor_userprio are read" },
    SettingEntry {
        key: "accounting",
        default: "\"1m\"",
        about: "how often the runs of jobs are read, with condor_history",
    },
    SettingEntry {
        key: "machines",
        default: "\"5m\"",
        about: "how often machines are read; they become agents only with a key of the role connector or admin",
    },
    SettingEntry { key: "setup", default: "\"10m\"", about: "how often the settings of the pool are read" },
    SettingEntry {
        key: "resources",
        default: "{ GPUs = \"cuda.device\" }",
        about: "the slots of HTCondor's resources; Cpus (cpu) and Memory (mem, in bytes) are always slots",
    },
    SettingEntry {
        key: "stale_after",
        default: "\"off\"",
        about: "how long the server may be away until factors go back to the default, like 6h; off: never",
    },
    SettingEntry {
        key: "state_dir",
        default: "\"/var/lib/fairshared/htcondor\"",
        about: "the folder of the lock, of what was written, and of reports that wait",
    },
    SettingEntry {
        key: "spool_max_mb",
        default: "256",
        about: "MiB that reports may take while they wait for the server",
    },
    SettingEntry { key: "metrics_listen", default: METRICS_LISTEN_DEFAULT, about: METRICS_LISTEN_ABOUT },
];

/// The settings of the connector for HTCondor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtCondorSettings {
    pub cluster: Option<String>,
    pub resource_group: Option<String>,
    pub mode: WriteMode,
    pub schedds: Vec<String>,
    pub head: u32,
    pub factor_spread: u32,
    pub max_writes: u32,
    pub writes_per_second: u32,
    pub poll: Duration,
    pub accounting: Duration,
    pub machines: Duration,
    pub setup: Duration,
    pub resources: BTreeMap<String, String>,
    pub stale_after: Option<Duration>,
    pub state_dir: PathBuf,
    pub spool_max_mb: u32,
    pub metrics_listen: Option<SocketAddr>,
}

impl Default for HtCondorSettings {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            cluster: None,
            resource_group: None,
            mode: WriteMode::Shadow,
            schedds: Vec::new(),
            head: 200,
            factor_spread: 1_000,
            max_writes: 500,
            writes_per_second: 20,
            poll: second * 60,
            accounting: second * 60,
            machines: second * 300,
            setup: second * 600,
            resources: BTreeMap::from([("GPUs".to_owned(), "cuda.device".to_owned())]),
            stale_after: None,
            state_dir: PathBuf::from("/var/lib/fairshared/htcondor"),
            spool_max_mb: 256,
            metrics_listen: None,
        }
    }
}

impl HtCondorSettings {
    /// Reads the table; the defaults if there is none.
    pub fn read(table: Option<&ConnectorTable>) -> Result<Self, ConfigError> {
        let mut settings = Self::default();
        set_keys(table, TABLE, |key, value| settings.set(key, value))?;
        Ok(settings)
    }

    /// The resource group that a pool reports to.
    pub fn group_of(&self, cluster: &str) -> String {
        self.resource_group.clone().unwrap_or_else(|| cluster.to_owned())
    }

    /// The names of the access points; `None` stands for that of this machine.
    pub fn schedd_names(&self) -> Vec<Option<&str>> {
        if self.schedds.is_empty() { vec![None] } else { self.schedds.iter().map(|name| Some(&**name)).collect() }
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), String> {
        match key {
            "cluster" => self.cluster = Some(parse_text(value)?),
            "resource_group" => self.resource_group = Some(parse_text(value)?),
            "mode" => self.mode = parse_condor_mode(value)?,
            "schedds" => self.schedds = parse_texts(value)?,
            "head" => self.head = parse_number(value, 1, 100_000)?,
            "factor_spread" => self.factor_spread = parse_number(value, 2, 10_000)?,
            "max_writes" => self.max_writes = parse_number(value, 1, 1_000_000)?,
            "writes_per_second" => self.writes_per_second = parse_number(value, 1, 1_000)?,
            "poll" => self.poll = parse_duration(value)?,
            "accounting" => self.accounting = parse_duration(value)?,
            "machines" => self.machines = parse_duration(value)?,
            "setup" => self.setup = parse_duration(value)?,
            "resources" => self.resources = parse_slots(value)?,
            "stale_after" if value.as_str() == Some("off") => self.stale_after = None,
            "stale_after" => self.stale_after = Some(parse_duration(value)?),
            "state_dir" => self.state_dir = PathBuf::from(parse_text(value)?),
            "spool_max_mb" => self.spool_max_mb = parse_number(value, 1, 1_000_000)?,
            "metrics_listen" => self.metrics_listen = read_metrics_address(value)?,
            _ => return Err(unknown_key(key, &HTCONDOR_SETTINGS)),
        }
        Ok(())
    }
}

/// Reads the mode. HTCondor has one value for each user, so that it cannot be given the order of single jobs.
fn parse_condor_mode(value: &toml::Value) -> Result<WriteMode, String> {
    match value.as_str() {
        Some("order") => {
            Err("is \"order\", and HTCondor has one factor for each user and takes no order of single jobs: \
                              it is \"shadow\" or \"factor\""
                .to_owned())
        }
        Some("shadow" | "factor") => parse_mode(value),
        _ => Err("is neither \"shadow\" nor \"factor\"".to_owned()),
    }
}

/// The table with comments, and the settings of the program that a connector needs.
pub fn commented_example() -> String {
    commented_table(TABLE, &HTCONDOR_SETTINGS)
}
