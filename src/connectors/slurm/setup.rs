//! The checks of `--check`, and how accounts, resources and partitions are mapped.

use std::collections::BTreeMap;

use serde::Serialize;

use super::account_tree::AccountTree;
use super::people::MappedPeople;
use super::sacctmgr::{self, is_operator};
use super::scontrol::{self, SlurmConfig};
use super::settings::SlurmSettings;
use super::{priority_obstacles, programs, read_config, read_partitions, read_tree, sacct, sprio, squeue};
use crate::connectors::fault::RoundFault;
use crate::connectors::outcome::WriteMode;
use crate::connectors::scheduler::ValueWrite;
use crate::connectors::server::{FairShareServer, KeyRights, ServerFailure};
use crate::connectors::setup_check::SetupCheck;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::input::warning::list_names;

/// The versions that this connector was tested with.
const TESTED_VERSIONS: [&str; 1] = ["22.05."];
/// The largest accepted difference of the clocks, in seconds.
const MAX_SKEW_SECONDS: i64 = 10;
/// The most names that a check lists.
const MAX_NAMED: usize = 5;

/// An account as it is mapped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccountMapping {
    pub account: String,
    pub domain: String,
    pub project: String,
    /// The part of its domain by Slurm's shares.
    pub weight: String,
}

/// A partition as it is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionMapping {
    pub partition: String,
    pub tier: u32,
    pub ordered: bool,
}

/// How the cluster is mapped to the resource group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterMapping {
    pub accounts: Vec<AccountMapping>,
    pub tres: BTreeMap<String, String>,
    pub partitions: Vec<PartitionMapping>,
}

/// The report of `--check`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SetupReport {
    pub ok: bool,
    pub mode: WriteMode,
    pub cluster: Option<String>,
    pub resource_group: Option<String>,
    pub slurm_version: Option<String>,
    pub checks: Vec<SetupCheck>,
    pub mapping: ClusterMapping,
}

impl SetupReport {
    /// Adds the result of a check.
    pub fn add(&mut self, check: SetupCheck) {
        self.ok &= !check.is_error();
        self.checks.push(check);
    }
}

/// Makes all checks. Nothing is written but the value that one pending job already has, and that only if no other connector runs,
/// which could write another value to the job meanwhile.
pub async fn check_setup(
    settings: &SlurmSettings,
    server: Option<&impl FairShareServer>,
    user: &str,
    is_lock_free: bool,
    now: impl Fn() -> Timestamp,
) -> SetupReport {
    let mut report = SetupReport { ok: true, mode: settings.mode, ..SetupReport::default() };
    let config = match read_config(settings).await {
        Ok(config) => Some(config),
        Err(fault) => {
            let fix = "scontrol ping; SLURM_CONF names the configuration of the cluster";
            report.add(SetupCheck::failed("slurm", fault.detail, fix));
            None
        }
    };
    if let Some(config) = &config {
        report.cluster = Some(config.cluster.clone());
        report.slurm_version = Some(config.version.clone());
        report.add(SetupCheck::passed("slurm", format!("the cluster {} answers", config.cluster)));
        check_config(&mut report, settings, config).await;
        report.add(check_right(user, is_lock_free).await);
        check_mapping(&mut report, settings, config).await;
    }
    let group = settings.resource_group.clone().or_else(|| report.cluster.clone());
    report.resource_group.clone_from(&group);
    match server {
        None => report.add(SetupCheck::failed(
            "server",
            "no server is set",
            "server = \"https://fairshared.example.org\" in the settings file",
        )),
        Some(server) => check_server(&mut report, server, settings, group.as_deref(), now).await,
    }
    report
}

async fn check_config(report: &mut SetupReport, settings: &SlurmSettings, config: &SlurmConfig) {
    let version = &config.version;
    report.add(if TESTED_VERSIONS.iter().any(|tested| version.starts_with(tested)) {
        SetupCheck::passed("slurm_version", format!("Slurm {version}"))
    } else {
        let detail = format!("Slurm {version} was not tested; a text of another form ends a round with unknown_format");
        SetupCheck::failed("slurm_version", detail, "stay in the mode shadow at first").as_warning()
    });
    report.add(check_accounting(config).await);
    let obstacles = priority_obstacles(config, settings);
    for (name, setting, then) in [
        ("priority_type", "PriorityType=priority/multifactor", "a restart of slurmctld"),
        ("fairshare_weight", "PriorityWeightFairshare=0", "scontrol reconfigure"),
    ] {
        let fix = format!("{setting} in slurm.conf, and then {then}");
        report.add(match obstacles.iter().find(|fault| fault.code == name) {
            Some(fault) => SetupCheck::failed(name, fault.detail.clone(), fix),
            None if name == "priority_type" => SetupCheck::passed(name, config.priority_type.clone()),
            None => SetupCheck::passed(name, format!("PriorityWeightFairshare is {}", config.fairshare_weight)),
        });
    }
}

async fn check_accounting(config: &SlurmConfig) -> SetupCheck {
    const NAME: &str = "accounting";
    if config.accounting_type != "accounting_storage/slurmdbd" {
        let detail = format!("AccountingStorageType is {}", config.accounting_type);
        return SetupCheck::failed(NAME, detail, "AccountingStorageType=accounting_storage/slurmdbd in slurm.conf");
    }
    let read = async {
        let backlog = sacct::read_backlog(&programs::read(sacct::QUEUE_PROGRAM, &[]).await?)?;
        programs::read(sacctmgr::PROGRAM, &["-n", "-P", "show", "cluster", "format=Cluster"]).await?;
        Ok::<u64, RoundFault>(backlog)
    };
    match read.await {
        Ok(0) => SetupCheck::passed(NAME, "slurmdbd answers, and knows everything that slurmctld knows"),
        Ok(backlog) => {
            let detail = format!("slurmctld has {backlog} messages for slurmdbd that it has not sent");
            SetupCheck::failed(NAME, detail, "look into the log of slurmdbd").as_warning()
        }
        Err(fault) => SetupCheck::failed(NAME, fault.detail, "start slurmdbd; look into its log"),
    }
}

/// Writes the value that one pending job already has. Slurm refuses this without the right, and with it nothing changes.
async fn check_right(user: &str, may_write: bool) -> SetupCheck {
    const NAME: &str = "operator_right";
    let fix = format!(
        "sacctmgr add user {user} account=root adminlevel=Operator (or: modify user {user} set adminlevel=Operator)"
    );
    let proved = async {
        if !may_write {
            return Ok(None);
        }
        // With another priority plugin sprio shows nothing.
        let Ok(text) = programs::read(sprio::PROGRAM, &sprio::ARGS).await else { return Ok(None) };
        let shown = sprio::read_priorities(&text)?;
        let waiting = programs::read(squeue::PROGRAM, &squeue::SINGLE_ARGS).await?;
        let single = squeue::read_single_jobs(&waiting)?;
        let candidates = shown.iter().filter(|job| !job.is_fixed && single.contains(&job.job));
        let Some(job) = candidates.min_by_key(|job| (job.site != 0, job.job)) else { return Ok(None) };
        let write = ValueWrite { job: job.job.to_string(), value: job.site };
        let output = programs::feed(scontrol::PROGRAM, &[], &[scontrol::write_line(&write)], 1).await?;
        Ok::<_, RoundFault>(Some((write.job, output)))
    };
    match proved.await {
        Err(fault) => SetupCheck::failed(NAME, fault.detail, "scontrol ping"),
        Ok(Some((job, output))) if scontrol::is_denied(&output.stderr) => {
            let detail = format!("Slurm does not let {user} set SITE of job {job}: {}", output.message());
            SetupCheck::failed(NAME, detail, fix)
        }
        Ok(Some((job, output))) if output.is_success() => {
            SetupCheck::passed(NAME, format!("SITE of job {job} was set to the value that it had"))
        }
        // The job may have started meanwhile, no such job waits, or another connector runs: the database says what the user may do.
        Ok(_) => {
            let args = ["-n", "-P", "show", "user", user, "format=User,AdminLevel"];
            let listed = match programs::read(sacctmgr::PROGRAM, &args).await {
                Ok(text) => is_operator(&text, user),
                Err(fault) => Err(fault),
            };
            match listed {
                Ok(true) => SetupCheck::passed(NAME, format!("{user} is an operator; no write to a job has proved it")),
                Ok(false) => SetupCheck::failed(NAME, format!("{user} is no operator of Slurm"), fix),
                Err(fault) => SetupCheck::failed(NAME, fault.detail, fix),
            }
        }
    }
}

async fn check_mapping(report: &mut SetupReport, settings: &SlurmSettings, config: &SlurmConfig) {
    report.mapping.tres = settings.tres.iter().map(|(resource, slot)| (resource.clone(), slot.clone())).collect();
    for (resource, slot) in [("cpu", "cpu"), ("mem", "mem"), ("billing", "billing")] {
        report.mapping.tres.entry(resource.to_owned()).or_insert_with(|| slot.to_owned());
    }
    report.add(SetupCheck::passed("tres", "cpu, mem and billing are slots, and those of the setting tres"));
    match read_partitions(settings).await {
        Ok(partitions) => {
            let mapped = partitions.tiers.iter().map(|(partition, tier)| PartitionMapping {
                partition: partition.clone(),
                tier: *tier,
                ordered: partitions.is_ordered(partition),
            });
            report.mapping.partitions = mapped.collect();
        }
        Err(fault) => report.add(SetupCheck::failed("slurm", fault.detail, "scontrol show partition")),
    }
    match read_tree(&config.cluster).await {
        Ok(tree) => check_tree(report, &tree, &settings.group_of(&config.cluster)),
        Err(fault) => report.add(SetupCheck::failed("tree", fault.detail, "sacctmgr show assoc tree")),
    }
}

fn check_tree(report: &mut SetupReport, tree: &AccountTree, group: &str) {
    let accounts = tree.mapped_accounts().into_iter().map(|mapped| AccountMapping {
        project: mapped.account.clone(),
        account: mapped.account,
        domain: mapped.domain,
        weight: format!("{:.6}", mapped.part),
    });
    report.mapping.accounts = accounts.collect();
    let count = report.mapping.accounts.len();
    let mapped = MappedPeople::of(tree, group);
    if mapped.unusable_names.is_empty() {
        let noted = [
            (&mapped.zero_shares, "with the share 0 get the least weight"),
            (&mapped.users_of_parents, "with the share parent get none"),
        ];
        let noted = noted.into_iter().filter(|(names, _)| !names.is_empty());
        let noted: Vec<String> =
            noted.map(|(names, said)| format!("; {} {said}", list_names(names, MAX_NAMED))).collect();
        let detail = format!("{count} accounts are projects of the accounts below root{}", noted.concat());
        return report.add(SetupCheck::passed("tree", detail));
    }
    let detail = format!("the server takes no such names: {}", list_names(&mapped.unusable_names, MAX_NAMED));
    report
        .add(SetupCheck::failed("tree", detail, "give these accounts and users other names, or no jobs").as_warning());
}

async fn check_server(
    report: &mut SetupReport,
    server: &impl FairShareServer,
    settings: &SlurmSettings,
    group: Option<&str>,
    now: impl Fn() -> Timestamp,
) {
    let rights = server.key_rights().await;
    match &rights {
        Err(ServerFailure::Away(detail)) => {
            return report.add(SetupCheck::failed(
                "server",
                detail.clone(),
                "look whether `fairshared serve` runs there",
            ));
        }
        _ => report.add(SetupCheck::passed("server", "the server answers")),
    }
    let key_fix = |group: &str| format!("fairshared keys create --role connector --label slurm --group {group}");
    let shown_group = group.unwrap_or("GROUP");
    match rights {
        Ok(rights) => {
            let (syncs, is_full) = (settings.tree_sync, rights.is_of_connector());
            let KeyRights { role, resource_groups } = rights;
            let reaches = resource_groups.is_none_or(|groups| groups.iter().any(|name| Some(&**name) == group));
            report.add(if !["scheduler", "connector", "admin"].contains(&role.as_str()) {
                let detail = format!("the key has the role {role}, which may not report");
                SetupCheck::failed("key_role", detail, key_fix(shown_group))
            } else if reaches {
                let agents = if is_full { "" } else { "; nodes become agents only with the role connector or admin" };
                SetupCheck::passed("key_role", format!("the key has the role {role}{agents}"))
            } else {
                let detail = format!("the key does not reach the resource group {shown_group}");
                SetupCheck::failed("key_role", detail, key_fix(shown_group))
            });
            report.add(check_sync(syncs, is_full && reaches, &key_fix(shown_group)));
        }
        Err(failure) => {
            report.add(SetupCheck::failed("key_role", failure.into_fault().detail, key_fix(shown_group)));
        }
    }
    if let Some(group) = group {
        report.add(match server.find_group(group).await {
            Ok(()) => SetupCheck::passed("resource_group", format!("the resource group {group} is there")),
            Err(failure) => {
                let fix = format!("fairshared groups create {group}");
                SetupCheck::failed("resource_group", failure.into_fault().detail, fix)
            }
        });
    }
    report.add(check_clock(server, now).await);
}

/// The check whether the key may bring the tree of accounts.
fn check_sync(syncs: bool, may_sync: bool, fix: &str) -> SetupCheck {
    const NAME: &str = "tree_sync";
    match (syncs, may_sync) {
        (false, _) => SetupCheck::passed(NAME, "accounts and shares are kept at the server by hand"),
        (true, true) => SetupCheck::passed(NAME, "the key may bring accounts and shares"),
        (true, false) => {
            let detail = "the key may not bring accounts and shares, so that these stay as they are at the server";
            SetupCheck::failed(NAME, detail, format!("{fix} (or: tree_sync = false)")).as_warning()
        }
    }
}

async fn check_clock(server: &impl FairShareServer, now: impl Fn() -> Timestamp) -> SetupCheck {
    const NAME: &str = "clock";
    match server.server_time().await {
        Ok(Some(time)) => {
            let skew = (now().micros() - time.micros()).abs() / MICROS_PER_SECOND;
            let detail = format!("the clocks of this machine and of the server differ by {skew} seconds");
            if skew <= MAX_SKEW_SECONDS {
                SetupCheck::passed(NAME, detail)
            } else {
                SetupCheck::failed(NAME, detail, "let both set their clocks by the same source, such as NTP")
                    .as_warning()
            }
        }
        Ok(None) => SetupCheck::passed(NAME, "the server does not say its time"),
        Err(failure) => SetupCheck::failed(NAME, failure.into_fault().detail, "ask the server again").as_warning(),
    }
}

/// The check that no other connector of the cluster runs.
pub fn check_lock(is_free: bool, folder: &str) -> SetupCheck {
    if is_free {
        SetupCheck::passed("lock", format!("no other connector uses {folder}"))
    } else {
        SetupCheck::failed("lock", format!("another connector uses {folder}"), "stop it, or wait for it").as_warning()
    }
}
