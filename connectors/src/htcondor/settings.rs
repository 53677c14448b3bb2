//! The table `[htcondor]` of the settings file.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::connectors::ConnectorMode;

use crate::common_settings::{CommonSettings, METRICS_LISTEN, SPOOL_MAX_MB, STATE_DIR_ABOUT};
use crate::setting_values::{
    ConnectorTable, SettingEntry, SettingError, commented_table, parse_duration, parse_mode, parse_number, parse_slots,
    parse_texts, set_keys, unknown_key,
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
    SettingEntry { key: "state_dir", default: "\"/var/lib/fairshared/htcondor\"", about: STATE_DIR_ABOUT },
    SPOOL_MAX_MB,
    METRICS_LISTEN,
];

/// The settings of the connector for HTCondor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtCondorSettings {
    pub common: CommonSettings,
    pub schedds: Vec<String>,
    pub factor_spread: u32,
    pub machines: Duration,
    pub setup: Duration,
    pub resources: BTreeMap<String, String>,
}

impl Default for HtCondorSettings {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            common: CommonSettings::new("/var/lib/fairshared/htcondor", second * 60, 20),
            schedds: Vec::new(),
            factor_spread: 1_000,
            machines: second * 300,
            setup: second * 600,
            resources: BTreeMap::from([("GPUs".to_owned(), "cuda.device".to_owned())]),
        }
    }
}

impl HtCondorSettings {
    /// Reads the table; the defaults if there is none.
    pub fn read(table: Option<&ConnectorTable>) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        set_keys(table, TABLE, |key, value| settings.set(key, value))?;
        Ok(settings)
    }

    /// The names of the access points; `None` stands for that of this machine.
    pub fn schedd_names(&self) -> Vec<Option<&str>> {
        if self.schedds.is_empty() { vec![None] } else { self.schedds.iter().map(|name| Some(&**name)).collect() }
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), String> {
        match key {
            "mode" => self.common.mode = parse_condor_mode(value)?,
            "schedds" => self.schedds = parse_texts(value)?,
            "factor_spread" => self.factor_spread = parse_number(value, 2, 10_000)?,
            "writes_per_second" => self.common.writes_per_second = parse_number(value, 1, 1_000)?,
            "machines" => self.machines = parse_duration(value)?,
            "setup" => self.setup = parse_duration(value)?,
            "resources" => self.resources = parse_slots(value)?,
            _ if self.common.set(key, value)? => {}
            _ => return Err(unknown_key(key, &HTCONDOR_SETTINGS)),
        }
        Ok(())
    }
}

/// Reads the mode. HTCondor has one value for each user, so that it cannot be given the order of single jobs.
fn parse_condor_mode(value: &toml::Value) -> Result<ConnectorMode, String> {
    match value.as_str() {
        Some("order") => {
            Err("is \"order\", and HTCondor has one factor for each user and takes no order of single jobs: \
                              it is \"shadow\" or \"factor\""
                .to_owned())
        }
        Some("shadow" | "factor") => parse_mode(value, &[ConnectorMode::Shadow, ConnectorMode::Factor]),
        _ => Err("is neither \"shadow\" nor \"factor\"".to_owned()),
    }
}

/// The table with comments, and the settings of the program that a connector needs.
pub fn commented_example() -> String {
    commented_table(TABLE, &HTCONDOR_SETTINGS)
}
