//! The table `[slurm]` of the settings file.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common_settings::{CommonSettings, METRICS_LISTEN, SPOOL_MAX_MB, STATE_DIR_ABOUT};
use crate::setting_values::{
    ConnectorTable, SettingEntry, SettingError, commented_table, parse_duration, parse_flag, parse_number, parse_slots,
    parse_texts, set_keys, unknown_key,
};

/// The name of the table.
pub const TABLE: &str = "slurm";
/// The largest `site_max`. Slurm keeps the value in 32 bits, half of which are negative.
const SITE_LIMIT: i64 = 1_000_000_000;

/// All keys of the table.
pub const SLURM_SETTINGS: [SettingEntry; 20] = [
    SettingEntry {
        key: "cluster",
        default: "",
        about: "the cluster that is read, by its ClusterName; by default the one that SLURM_CONF describes",
    },
    SettingEntry {
        key: "resource_group",
        default: "",
        about: "the resource group that it reports to; by default the name of the cluster",
    },
    SettingEntry {
        key: "mode",
        default: "\"shadow\"",
        about: "shadow writes nothing to Slurm; factor writes SITE by the rank of the owner; order writes the exact order of the head",
    },
    SettingEntry {
        key: "partitions",
        default: "[]",
        about: "the partitions whose jobs are ordered; empty: all. Jobs of all partitions are reported",
    },
    SettingEntry { key: "head", default: "200", about: "how many jobs are ordered and compared in each round" },
    SettingEntry {
        key: "site_weight",
        default: "100000",
        about: "factor: SITE of the first rank; it falls with the rank in 200 steps",
    },
    SettingEntry {
        key: "site_max",
        default: "1000000",
        about: "no value that is written lies beyond this, up or down",
    },
    SettingEntry { key: "max_writes", default: "500", about: "values that one round writes at most" },
    SettingEntry { key: "writes_per_second", default: "200", about: "values that one second writes at most" },
    SettingEntry { key: "poll", default: "\"15s\"", about: "how often squeue and sprio are read" },
    SettingEntry { key: "accounting", default: "\"1m\"", about: "how often sacct is read" },
    SettingEntry {
        key: "nodes",
        default: "\"5m\"",
        about: "how often nodes are read; they become agents only with a key of the role connector or admin",
    },
    SettingEntry {
        key: "tree",
        default: "\"10m\"",
        about: "how often the configuration, partitions and accounts are read",
    },
    SettingEntry {
        key: "tree_sync",
        default: "true",
        about: "bring accounts and shares to the server, with a key of the role connector or admin; false: an admin keeps them there",
    },
    SettingEntry {
        key: "tres",
        default: "{ \"gres/gpu\" = \"cuda.device\" }",
        about: "the slots of Slurm's resources; cpu, mem (in bytes) and billing are always slots, node never is",
    },
    SettingEntry {
        key: "allow_fairshare_weight",
        default: "false",
        about: "write although PriorityWeightFairshare is above 0, so that usage counts twice",
    },
    SettingEntry {
        key: "stale_after",
        default: "\"off\"",
        about: "how long the server may be away until SITE goes back to 0, like 6h; off: never",
    },
    SettingEntry { key: "state_dir", default: "\"/var/lib/fairshared/slurm\"", about: STATE_DIR_ABOUT },
    SPOOL_MAX_MB,
    METRICS_LISTEN,
];

/// The settings of the connector for Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmSettings {
    pub common: CommonSettings,
    pub partitions: Vec<String>,
    pub site_weight: i64,
    pub site_max: i64,
    pub nodes: Duration,
    pub tree: Duration,
    pub tree_sync: bool,
    pub tres: BTreeMap<String, String>,
    pub allow_fairshare_weight: bool,
}

impl Default for SlurmSettings {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            common: CommonSettings::new("/var/lib/fairshared/slurm", second * 15, 200),
            partitions: Vec::new(),
            site_weight: 100_000,
            site_max: 1_000_000,
            nodes: second * 300,
            tree: second * 600,
            tree_sync: true,
            tres: BTreeMap::from([("gres/gpu".to_owned(), "cuda.device".to_owned())]),
            allow_fairshare_weight: false,
        }
    }
}

impl SlurmSettings {
    /// Reads the table; the defaults if there is none.
    pub fn read(table: Option<&ConnectorTable>) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        set_keys(table, TABLE, |key, value| settings.set(key, value))?;
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), String> {
        match key {
            "partitions" => self.partitions = parse_texts(value)?,
            "site_weight" => self.site_weight = parse_number(value, 1, SITE_LIMIT)?,
            "site_max" => self.site_max = parse_number(value, 1, SITE_LIMIT)?,
            "nodes" => self.nodes = parse_duration(value)?,
            "tree" => self.tree = parse_duration(value)?,
            "tres" => self.tres = parse_slots(value)?,
            "tree_sync" => self.tree_sync = parse_flag(value)?,
            "allow_fairshare_weight" => self.allow_fairshare_weight = parse_flag(value)?,
            _ if self.common.set(key, value)? => {}
            _ => return Err(unknown_key(key, &SLURM_SETTINGS)),
        }
        Ok(())
    }
}

/// The table with comments, and the settings of the program that a connector needs.
pub fn commented_example() -> String {
    commented_table(TABLE, &SLURM_SETTINGS)
}
