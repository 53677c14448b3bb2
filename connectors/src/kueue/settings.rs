//! The table `[kueue]` of the settings file.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::connectors::ConnectorMode;

use crate::common_settings::{CommonSettings, METRICS_LISTEN, SPOOL_MAX_MB, STATE_DIR_ABOUT};
use crate::setting_values::{
    ConnectorTable, SettingEntry, SettingError, commented_table, parse_duration, parse_flag, parse_mode, parse_number,
    parse_slots, set_keys, unknown_key,
};

/// The name of the table.
pub const TABLE: &str = "kueue";
/// The name of a cluster that the settings do not name. Kubernetes knows none.
const DEFAULT_CLUSTER: &str = "kubernetes";
/// The largest `boost_max`. Kueue reads the annotation as a number of 32 bits with a sign.
const BOOST_LIMIT: i64 = 1_000_000_000;

const MODES: [ConnectorMode; 4] =
    [ConnectorMode::Shadow, ConnectorMode::Factor, ConnectorMode::Order, ConnectorMode::Weights];

/// All keys of the table.
pub const KUEUE_SETTINGS: [SettingEntry; 23] = [
    SettingEntry {
        key: "cluster",
        default: "\"kubernetes\"",
        about: "the name of the cluster for the server, because Kubernetes knows none",
    },
    SettingEntry {
        key: "resource_group",
        default: "",
        about: "the resource group that it reports to; by default the name of the cluster",
    },
    SettingEntry {
        key: "mode",
        default: "\"shadow\"",
        about: "shadow writes nothing to Kueue; factor writes the boost of a Workload by the rank of the owner; order writes the exact order of the head; weights writes the weights of LocalQueues",
    },
    SettingEntry {
        key: "kubeconfig",
        default: "\"\"",
        about: "the file that says how to reach the cluster; empty: that of KUBECONFIG, or the service account of the pod",
    },
    SettingEntry { key: "context", default: "\"\"", about: "the context of the kubeconfig; empty: the current one" },
    SettingEntry {
        key: "timeout",
        default: "\"30s\"",
        about: "how long the API server may send nothing until it counts as away; a whole answer, and a login program of the kubeconfig, may take four times as long",
    },
    SettingEntry {
        key: "user_label",
        default: "\"\"",
        about: "the label or annotation of a Workload, or of its pods, that names the user; empty or absent: the namespace; of a LocalQueue, for weights",
    },
    SettingEntry {
        key: "project_label",
        default: "\"\"",
        about: "the label or annotation of a Workload, or of its pods, that names the project; empty or absent: the namespace; of a LocalQueue, for weights",
    },
    SettingEntry {
        key: "domain_label",
        default: "\"\"",
        about: "the label or annotation of a Workload, its pods or its LocalQueue that names the domain; empty or absent: the cohort",
    },
    SettingEntry { key: "head", default: "200", about: "how many Workloads are ordered and compared in each round" },
    SettingEntry {
        key: "boost_max",
        default: "100000",
        about: "the largest boost; it also stays below the next higher priority that a Workload has",
    },
    SettingEntry {
        key: "allow_preemption",
        default: "false",
        about: "write to Workloads of ClusterQueues in which a higher priority ends running ones",
    },
    SettingEntry { key: "max_writes", default: "500", about: "boosts and weights that one round writes at most" },
    SettingEntry {
        key: "writes_per_second",
        default: "50",
        about: "boosts and weights that one second writes at most",
    },
    SettingEntry {
        key: "poll",
        default: "\"15s\"",
        about: "how often Workloads and queues are read; more than 1m may lose runs",
    },
    SettingEntry { key: "accounting", default: "\"1m\"", about: "how often runs are reported" },
    SettingEntry {
        key: "nodes",
        default: "\"5m\"",
        about: "how often nodes are read; they become agents only with a key of the role connector or admin",
    },
    SettingEntry {
        key: "setup",
        default: "\"10m\"",
        about: "how often it is tried whether Kueue reads the boost or takes weights",
    },
    SettingEntry {
        key: "resources",
        default: "{ \"nvidia.com/gpu\" = \"cuda.device\" }",
        about: "the slots of Kubernetes' resources; cpu and memory (mem, in bytes) are always slots",
    },
    SettingEntry {
        key: "stale_after",
        default: "\"off\"",
        about: "how long the server may be away until the boosts of waiting Workloads, and weights, are taken away, like 6h; off: never",
    },
    SettingEntry { key: "state_dir", default: "\"/var/lib/fairshared/kueue\"", about: STATE_DIR_ABOUT },
    SPOOL_MAX_MB,
    METRICS_LISTEN,
];

/// The settings of the connector for Kueue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KueueSettings {
    pub common: CommonSettings,
    pub kubeconfig: Option<String>,
    pub context: Option<String>,
    pub timeout: Duration,
    pub user_label: Option<String>,
    pub project_label: Option<String>,
    pub domain_label: Option<String>,
    pub boost_max: i64,
    pub allow_preemption: bool,
    pub nodes: Duration,
    pub setup: Duration,
    pub resources: BTreeMap<String, String>,
}

impl Default for KueueSettings {
    fn default() -> Self {
        let common = CommonSettings::new("/var/lib/fairshared/kueue", Duration::from_secs(15), 50);
        Self {
            common: CommonSettings { cluster: Some(DEFAULT_CLUSTER.to_owned()), ..common },
            kubeconfig: None,
            context: None,
            timeout: Duration::from_secs(30),
            user_label: None,
            project_label: None,
            domain_label: None,
            boost_max: 100_000,
            allow_preemption: false,
            nodes: Duration::from_mins(5),
            setup: Duration::from_mins(10),
            resources: BTreeMap::from([("nvidia.com/gpu".to_owned(), "cuda.device".to_owned())]),
        }
    }
}

impl KueueSettings {
    /// Reads the table; the defaults if there is none.
    pub fn read(table: Option<&ConnectorTable>) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        set_keys(table, TABLE, |key, value| settings.set(key, value))?;
        Ok(settings)
    }

    /// The name of the cluster for the server.
    pub fn cluster_name(&self) -> &str {
        self.common.cluster.as_deref().unwrap_or(DEFAULT_CLUSTER)
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), String> {
        match key {
            "mode" => self.common.mode = parse_mode(value, &MODES)?,
            "kubeconfig" => self.kubeconfig = parse_optional_text(value)?,
            "context" => self.context = parse_optional_text(value)?,
            "timeout" => self.timeout = parse_duration(value)?,
            "user_label" => self.user_label = parse_optional_text(value)?,
            "project_label" => self.project_label = parse_optional_text(value)?,
            "domain_label" => self.domain_label = parse_optional_text(value)?,
            "boost_max" => self.boost_max = parse_number(value, 1, BOOST_LIMIT)?,
            "allow_preemption" => self.allow_preemption = parse_flag(value)?,
            "nodes" => self.nodes = parse_duration(value)?,
            "setup" => self.setup = parse_duration(value)?,
            "resources" => self.resources = parse_slots(value)?,
            _ if self.common.set(key, value)? => {}
            _ => return Err(unknown_key(key, &KUEUE_SETTINGS)),
        }
        Ok(())
    }
}

/// Reads a text that may be empty, which stands for none.
fn parse_optional_text(value: &toml::Value) -> Result<Option<String>, String> {
    let text = value.as_str().ok_or("is not a text in quotes")?;
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// The table with comments, and the settings of the program that a connector needs.
pub fn commented_example() -> String {
    commented_table(TABLE, &KUEUE_SETTINGS)
}
