//! The settings of the pool that matter to a connector, as `condor_config_val` prints them.

use super::class_ads::read_ads;
use super::programs::{self, SETTINGS, STATUS, schedd_args};
use super::settings::HtCondorSettings;
use crate::fault::RoundFault;

/// The settings of the negotiator, in the order in which they are asked for.
pub const NEGOTIATOR_ARGS: [&str; 5] =
    ["-negotiator", "PRIORITY_HALFLIFE", "DEFAULT_PRIO_FACTOR", "PREEMPTION_REQUIREMENTS", "GROUP_NAMES"];
const HOST_ARGS: [&str; 1] = ["CONDOR_HOST"];
const EPOCH_SETTING: &str = "JOB_EPOCH_HISTORY";
const VERSION_ARGS: [&str; 4] = ["-negotiator", "-json", "-attributes", "Name,CondorVersion"];
/// The line that stands for a setting without a value.
const NOT_DEFINED: &str = "Not defined";
/// The least half-life, in seconds, with which HTCondor's own record of usage does not change the order within years. With it, a user
/// who holds 1,000 cores for a year gets a real priority of 0.52 in place of 0.5.
pub const LEAST_HALF_LIFE: f64 = 1e12;

/// The settings of the pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolSettings {
    pub cluster: String,
    /// `PRIORITY_HALFLIFE`, in seconds.
    pub half_life: f64,
    /// `DEFAULT_PRIO_FACTOR`.
    pub default_factor: i64,
    pub preemption_requirements: String,
    /// The accounting groups with quotas, among which the negotiator divides the pool first.
    pub group_names: Option<String>,
    /// True if all access points record the runs of jobs.
    pub records_runs: bool,
}

/// The settings of the negotiator.
#[derive(Clone, Debug, PartialEq)]
pub struct NegotiatorSettings {
    pub half_life: f64,
    pub default_factor: i64,
    pub preemption_requirements: String,
    pub group_names: Option<String>,
}

/// Reads what `condor_config_val` prints for [`NEGOTIATOR_ARGS`].
pub fn read_negotiator_settings(text: &str) -> Result<NegotiatorSettings, RoundFault> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let [half_life, default_factor, preemption, groups] = lines[..] else {
        return Err(RoundFault::new("unknown_format", format!("{SETTINGS} printed {} lines of 4", lines.len())));
    };
    let number = |name: &str, text: &str| {
        let found = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 1.0);
        found.ok_or_else(|| RoundFault::new("unknown_format", format!("{name} is {text:?}, and no number from 1 on")))
    };
    let default_factor = number("DEFAULT_PRIO_FACTOR", default_factor)?;
    #[expect(clippy::cast_possible_truncation, reason = "a factor is far below the largest number")]
    let default_factor = default_factor.round() as i64;
    Ok(NegotiatorSettings {
        half_life: number("PRIORITY_HALFLIFE", half_life)?,
        default_factor,
        preemption_requirements: preemption.to_owned(),
        group_names: defined(groups),
    })
}

/// The value of a setting; `None` if it has none.
fn defined(line: &str) -> Option<String> {
    (!line.is_empty() && !line.starts_with(NOT_DEFINED)).then(|| line.to_owned())
}

/// Reads the settings of the pool. A pool that is not the one of the settings of the connector is refused.
pub async fn read_pool(settings: &HtCondorSettings) -> Result<PoolSettings, RoundFault> {
    let negotiator = read_negotiator_settings(&programs::read(SETTINGS, &NEGOTIATOR_ARGS).await?)?;
    let NegotiatorSettings { half_life, default_factor, preemption_requirements, group_names } = negotiator;
    let mut records_runs = true;
    for schedd in settings.schedd_names() {
        let args = [vec!["-schedd"], schedd_args(schedd), vec![EPOCH_SETTING]].concat();
        records_runs &= defined(programs::read(SETTINGS, &args).await?.trim()).is_some();
    }
    let cluster = match &settings.common.cluster {
        Some(cluster) => cluster.clone(),
        None => first_host(&programs::read(SETTINGS, &HOST_ARGS).await?)?,
    };
    Ok(PoolSettings { cluster, half_life, default_factor, preemption_requirements, group_names, records_runs })
}

/// The first central manager of `CONDOR_HOST`, without its port.
fn first_host(text: &str) -> Result<String, RoundFault> {
    let host = text.trim().split([',', ' ']).next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    if host.is_empty() || text.starts_with(NOT_DEFINED) {
        let detail = "CONDOR_HOST names no central manager: set cluster in the table [htcondor]";
        return Err(RoundFault::new("cluster", detail));
    }
    Ok(host.to_owned())
}

/// The version of the negotiator, such as `23.9.6`.
pub async fn read_version() -> Result<String, RoundFault> {
    let ads = read_ads(STATUS, &programs::read(STATUS, &VERSION_ARGS).await?)?;
    let version = ads.first().and_then(|ad| ad.text("CondorVersion"));
    let number = version.and_then(|version| version.split_whitespace().nth(1));
    number.map(str::to_owned).ok_or_else(|| RoundFault::new("htcondor_away", "the collector knows no negotiator"))
}
