//! The table `[slurm]` of the settings file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{ConfigError, ConnectorTable, nearest_name_hint};
use crate::connectors::metrics_address::{METRICS_LISTEN_ABOUT, METRICS_LISTEN_DEFAULT, read_metrics_address};
use crate::connectors::outcome::WriteMode;

/// The name of the table.
pub const TABLE: &str = "slurm";
/// The largest `site_max`. Slurm keeps the value in 32 bits, half of which are negative.
const SITE_LIMIT: i64 = 1_000_000_000;

/// One key of the table.
#[derive(Clone, Copy, Debug)]
pub struct SlurmSetting {
    pub key: &'static str,
    /// The default as TOML; empty if it follows from Slurm.
    pub default: &'static str,
    pub about: &'static str,
}

/// All keys of the table.
pub const SLURM_SETTINGS: [SlurmSetting; 20] = [
    SlurmSetting {
        key: "cluster",
        default: "",
        about: "the cluster that is read, by its ClusterName; by default the one that SLURM_CONF describes",
    },
    SlurmSetting {
        key: "resource_group",
        default: "",
        about: "the resource group that it reports to; by default the name of the cluster",
    },
    SlurmSetting {
        key: "mode",
        default: "\"shadow\"",
        about: "shadow writes nothing to Slurm; factor writes SITE by the rank of the owner; order writes the exact order of the head",
    },
    SlurmSetting {
        key: "partitions",
        default: "[]",
        about: "the partitions whose jobs are ordered; empty: all. Jobs of all partitions are reported",
    },
    SlurmSetting { key: "head", default: "200", about: "how many jobs are ordered and compared in each round" },
    SlurmSetting {
        key: "site_weight",
        default: "100000",
        about: "factor: SITE of the first rank; it falls with the rank in 200 steps",
    },
    SlurmSetting {
        key: "site_max",
        default: "1000000",
        about: "no value that is written lies beyond this, up or down",
    },
    SlurmSetting { key: "max_writes", default: "500", about: "values that one round writes at most" },
    SlurmSetting { key: "writes_per_second", default: "200", about: "values that one second writes at most" },
    SlurmSetting { key: "poll", default: "\"15s\"", about: "how often squeue and sprio are read" },
    SlurmSetting { key: "accounting", default: "\"1m\"", about: "how often sacct is read" },
    SlurmSetting {
        key: "nodes",
        default: "\"5m\"",
        about: "how often nodes are read; they become agents only with a key of the role connector or admin",
    },
    SlurmSetting {
        key: "tree",
        default: "\"10m\"",
        about: "how often the configuration, partitions and accounts are read",
    },
    SlurmSetting {
        key: "tree_sync",
        default: "true",
        about: "bring accounts and shares to the server, with a key of the role connector or admin; false: an admin keeps them there",
    },
    SlurmSetting {
        key: "tres",
        default: "{ \"gres/gpu\" = \"cuda.device\" }",
        about: "the slots of Slurm's resources; cpu, mem (in bytes) and billing are always slots, node never is",
    },
    SlurmSetting {
        key: "allow_fairshare_weight",
        default: "false",
        about: "write although PriorityWeightFairshare is above 0, so that usage counts twice",
    },
    SlurmSetting {
        key: "stale_after",
        default: "\"off\"",
        about: "how long the server may be away until SITE goes back to 0, like 6h; off: never",
    },
    SlurmSetting {
        key: "state_dir",
        default: "\"/var/lib/fairshared/slurm\"",
        about: "the folder of the lock, of what was written, and of reports that wait",
    },
    SlurmSetting {
        key: "spool_max_mb",
        default: "256",
        about: "MiB that reports may take while they wait for the server",
    },
    SlurmSetting { key: "metrics_listen", default: METRICS_LISTEN_DEFAULT, about: METRICS_LISTEN_ABOUT },
];

/// The settings of the connector for Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmSettings {
    pub cluster: Option<String>,
    pub resource_group: Option<String>,
    pub mode: WriteMode,
    pub partitions: Vec<String>,
    pub head: u32,
    pub site_weight: i64,
    pub site_max: i64,
    pub max_writes: u32,
    pub writes_per_second: u32,
    pub poll: Duration,
    pub accounting: Duration,
    pub nodes: Duration,
    pub tree: Duration,
    pub tree_sync: bool,
    pub tres: BTreeMap<String, String>,
    pub allow_fairshare_weight: bool,
    pub stale_after: Option<Duration>,
    pub state_dir: PathBuf,
    pub spool_max_mb: u32,
    /// The address for metrics and readiness; `None`: no port is opened.
    pub metrics_listen: Option<SocketAddr>,
}

impl Default for SlurmSettings {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            cluster: None,
            resource_group: None,
            mode: WriteMode::Shadow,
            partitions: Vec::new(),
            head: 200,
            site_weight: 100_000,
            site_max: 1_000_000,
            max_writes: 500,
            writes_per_second: 200,
            poll: second * 15,
            accounting: second * 60,
            nodes: second * 300,
            tree: second * 600,
            tree_sync: true,
            tres: BTreeMap::from([("gres/gpu".to_owned(), "cuda.device".to_owned())]),
            allow_fairshare_weight: false,
            stale_after: None,
            state_dir: PathBuf::from("/var/lib/fairshared/slurm"),
            spool_max_mb: 256,
            metrics_listen: None,
        }
    }
}

impl SlurmSettings {
    /// Reads the table; the defaults if there is none.
    pub fn read(table: Option<&ConnectorTable>) -> Result<Self, ConfigError> {
        let Some(ConnectorTable { file, values }) = table else { return Ok(Self::default()) };
        let mut settings = Self::default();
        for (key, value) in values {
            let fault = |detail| ConfigError::File { file: file.clone(), detail: format!("[slurm] {key} {detail}") };
            settings.set(key, value).map_err(fault)?;
        }
        Ok(settings)
    }

    /// The resource group that a cluster reports to.
    pub fn group_of(&self, cluster: &str) -> String {
        self.resource_group.clone().unwrap_or_else(|| cluster.to_owned())
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<(), String> {
        match key {
            "cluster" => self.cluster = Some(name(value)?),
            "resource_group" => self.resource_group = Some(name(value)?),
            "mode" => self.mode = mode(value)?,
            "partitions" => self.partitions = names(value)?,
            "head" => self.head = number(value, 1, 100_000)?,
            "site_weight" => self.site_weight = number(value, 1, SITE_LIMIT)?,
            "site_max" => self.site_max = number(value, 1, SITE_LIMIT)?,
            "max_writes" => self.max_writes = number(value, 1, 1_000_000)?,
            "writes_per_second" => self.writes_per_second = number(value, 1, 100_000)?,
            "poll" => self.poll = duration(value)?,
            "accounting" => self.accounting = duration(value)?,
            "nodes" => self.nodes = duration(value)?,
            "tree" => self.tree = duration(value)?,
            "tres" => self.tres = slots(value)?,
            "tree_sync" => self.tree_sync = truth(value)?,
            "allow_fairshare_weight" => self.allow_fairshare_weight = truth(value)?,
            "stale_after" if value.as_str() == Some("off") => self.stale_after = None,
            "stale_after" => self.stale_after = Some(duration(value)?),
            "state_dir" => self.state_dir = PathBuf::from(name(value)?),
            "spool_max_mb" => self.spool_max_mb = number(value, 1, 1_000_000)?,
            "metrics_listen" => self.metrics_listen = read_metrics_address(value)?,
            _ => {
                let known: Vec<String> = SLURM_SETTINGS.iter().map(|setting| setting.key.to_owned()).collect();
                return Err(format!("is not a setting of the connector{}", nearest_name_hint(key, &known)));
            }
        }
        Ok(())
    }
}

fn name(value: &toml::Value) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.is_empty()).ok_or("is not a text in quotes")?;
    Ok(text.to_owned())
}

fn names(value: &toml::Value) -> Result<Vec<String>, String> {
    value.as_array().ok_or("is not a list of texts")?.iter().map(name).collect()
}

fn truth(value: &toml::Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "is neither true nor false".to_owned())
}

fn mode(value: &toml::Value) -> Result<WriteMode, String> {
    let found = WriteMode::ALL.into_iter().find(|mode| value.as_str() == Some(mode.as_str()));
    found.ok_or_else(|| "is none of \"shadow\", \"factor\" and \"order\"".to_owned())
}

fn number<T: TryFrom<i64>>(value: &toml::Value, least: i64, most: i64) -> Result<T, String> {
    let found = value.as_integer().filter(|number| (least..=most).contains(number));
    found
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("is not a whole number from {least} to {most}"))
}

/// Reads a duration such as `15s`, `1m`, `6h` or `2d`.
fn duration(value: &toml::Value) -> Result<Duration, String> {
    let wrong = "is not a time like \"15s\", \"1m\", \"6h\" or \"2d\"";
    let text = value.as_str().ok_or(wrong)?;
    let unit = text.chars().last().ok_or(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong.to_owned()),
    };
    let number = text[..text.len() - 1].parse::<u32>().ok().filter(|number| *number > 0).ok_or(wrong)?;
    Ok(Duration::from_secs(u64::from(number) * seconds))
}

fn slots(value: &toml::Value) -> Result<BTreeMap<String, String>, String> {
    let table = value.as_table().ok_or("is not a table of resources and slots")?;
    table.iter().map(|(resource, slot)| Ok((resource.clone(), name(slot)?))).collect()
}

/// The table with comments, and the settings of the program that a connector needs.
pub fn commented_example() -> String {
    let mut text = String::from(
        "# The settings of `fairshared connect slurm --config FILE`. Lines that begin with # show defaults.\n\n\
         # The server, and a file with a key of the role connector.\n\
         server = \"https://fairshared.example.org\"\n\
         key_file = \"/etc/fairshared/slurm.key\"\n\n\
         [slurm]\n",
    );
    for SlurmSetting { key, default, about } in SLURM_SETTINGS {
        let default = if default.is_empty() { "\"gpu-cluster\"" } else { default };
        text.extend(["# ", key, ": ", about, ".\n# ", key, " = ", default, "\n\n"]);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
