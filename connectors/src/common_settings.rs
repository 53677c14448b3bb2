//! The settings that every connector has, whatever its scheduler.
//!
//! The table of a scheduler lists the keys with texts and defaults of its own, and reads those that are its alone.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use domain::connectors::ConnectorMode;

use super::fault::RoundFault;
use super::round::RoundSettings;
use super::setting_values::{SettingEntry, parse_duration, parse_mode, parse_number, parse_text};

/// The entry of `spool_max_mb`, which is the same in every table.
pub const SPOOL_MAX_MB: SettingEntry = SettingEntry {
    key: "spool_max_mb",
    default: "256",
    about: "MiB that reports may take while they wait for the server",
};
/// The entry of `metrics_listen`, which is the same in every table. By default no port is opened.
pub const METRICS_LISTEN: SettingEntry = SettingEntry {
    key: "metrics_listen",
    default: "\"off\"",
    about: "address and port for /metrics and /readyz, like \"127.0.0.1:9330\"; they need no key; off: none",
};
/// The modes of a connector that names no others.
const COMMON_MODES: [ConnectorMode; 3] = [ConnectorMode::Shadow, ConnectorMode::Factor, ConnectorMode::Order];
/// The meaning of `state_dir`, whose default differs.
pub const STATE_DIR_ABOUT: &str = "the folder of the lock, of what was written, and of reports that wait";

/// The settings that every connector has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonSettings {
    /// The cluster that is read; `None`: the one that the scheduler names.
    pub cluster: Option<String>,
    /// The group that it reports to; `None`: that of the name of the cluster.
    pub resource_group: Option<String>,
    pub mode: ConnectorMode,
    /// The number of jobs that are ordered and compared.
    pub head: u32,
    pub max_writes: u32,
    pub writes_per_second: u32,
    /// The time from the beginning of one round to that of the next.
    pub poll: Duration,
    /// The time from one reading of the accounting to the next.
    pub accounting: Duration,
    /// How long the server may be away until values fade; `None`: they stay.
    pub stale_after: Option<Duration>,
    pub state_dir: PathBuf,
    pub spool_max_mb: u32,
    /// The address for metrics and readiness; `None`: no port is opened.
    pub metrics_listen: Option<SocketAddr>,
}

impl CommonSettings {
    /// The defaults of a scheduler.
    pub fn new(state_dir: &str, poll: Duration, writes_per_second: u32) -> Self {
        Self {
            cluster: None,
            resource_group: None,
            mode: ConnectorMode::Shadow,
            head: 200,
            max_writes: 500,
            writes_per_second,
            poll,
            accounting: Duration::from_mins(1),
            stale_after: None,
            state_dir: PathBuf::from(state_dir),
            spool_max_mb: 256,
            metrics_listen: None,
        }
    }

    /// Sets a key. Returns false if it is none of these.
    pub fn set(&mut self, key: &str, value: &toml::Value) -> Result<bool, String> {
        match key {
            "cluster" => self.cluster = Some(parse_text(value)?),
            "resource_group" => self.resource_group = Some(parse_text(value)?),
            "mode" => self.mode = parse_mode(value, &COMMON_MODES)?,
            "head" => self.head = parse_number(value, 1, 100_000)?,
            "max_writes" => self.max_writes = parse_number(value, 1, 1_000_000)?,
            "writes_per_second" => self.writes_per_second = parse_number(value, 1, 100_000)?,
            "poll" => self.poll = parse_duration(value)?,
            "accounting" => self.accounting = parse_duration(value)?,
            "stale_after" if value.as_str() == Some("off") => self.stale_after = None,
            "stale_after" => self.stale_after = Some(parse_duration(value)?),
            "state_dir" => self.state_dir = PathBuf::from(parse_text(value)?),
            "spool_max_mb" => self.spool_max_mb = parse_number(value, 1, 1_000_000)?,
            "metrics_listen" => self.metrics_listen = read_address(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The resource group that a cluster reports to.
    pub fn group_of(&self, cluster: &str) -> String {
        self.resource_group.clone().unwrap_or_else(|| cluster.to_owned())
    }

    /// The fault of a folder that cannot be used.
    pub fn state_dir_fault(&self, error: &io::Error) -> RoundFault {
        RoundFault::new("state_dir", format!("cannot use {}: {error}", self.state_dir.display()))
    }

    /// The bytes that reports may take while they wait for the server.
    pub fn spool_max_bytes(&self) -> u64 {
        u64::from(self.spool_max_mb) << 20
    }

    /// The settings of the rounds of a cluster, with the times from one reading of its nodes, and of what seldom changes, to the next.
    pub fn rounds_of(&self, cluster: &str, nodes_interval: Duration, tree_interval: Duration) -> RoundSettings {
        RoundSettings {
            mode: self.mode,
            resource_group: self.group_of(cluster),
            cluster: cluster.to_owned(),
            head: self.head,
            max_writes: self.max_writes,
            writes_per_second: self.writes_per_second,
            accounting_interval: self.accounting,
            nodes_interval,
            tree_interval,
            stale_after: self.stale_after,
            state_dir: self.state_dir.clone(),
            spool_max_bytes: self.spool_max_bytes(),
        }
    }
}

/// Reads the address of `metrics_listen`; `None` for `off`.
fn read_address(value: &toml::Value) -> Result<Option<SocketAddr>, String> {
    let text = value.as_str().unwrap_or_default();
    if text == "off" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| "is neither \"off\" nor an address and port like \"127.0.0.1:9330\"".to_owned())
}
