//! The checks of `--check`, and how accounts, resources and partitions are mapped.

use std::collections::BTreeMap;

use api::input_warning::list_names;
use domain::time::Timestamp;
use serde::Serialize;

use super::account_tree::AccountTree;
use super::people::MappedPeople;
use super::sacctmgr::{self, is_operator};
use super::scontrol::{self, SlurmConfig};
use super::settings::SlurmSettings;
use super::{MAX_NAMED, priority_obstacles, programs, read_config, read_partitions, read_tree, sacct, sprio, squeue};
use crate::fault::RoundFault;
use crate::scheduler::ValueWrite;
use crate::server::FairShareServer;
use crate::server_checks::{ServerNeeds, check_server};
use crate::setup_check::{SetupCheck, SetupReport};

/// The versions that this connector was tested with.
const TESTED_VERSIONS: [&str; 2] = ["22.05.", "24.11."];

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

/// The part of a report of `--check` that is about Slurm.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SlurmFacts {
    pub slurm_version: Option<String>,
    pub mapping: ClusterMapping,
}

pub type SlurmReport = SetupReport<SlurmFacts>;

/// Makes all checks. Nothing is written but the value that one pending job already has, and that only if no other connector runs,
/// which could write another value to the job meanwhile.
pub async fn check_setup(
    settings: &SlurmSettings,
    server: Option<&impl FairShareServer>,
    user: &str,
    is_lock_free: bool,
    now: impl Fn() -> Timestamp,
) -> SlurmReport {
    let mut report = SlurmReport::new(settings.common.mode);
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
        report.scheduler.slurm_version = Some(config.version.clone());
        report.add(SetupCheck::passed("slurm", format!("the cluster {} answers", config.cluster)));
        check_config(&mut report, settings, config).await;
        report.add(check_right(user, is_lock_free).await);
        check_mapping(&mut report, settings, config).await;
    }
    let group = settings.common.resource_group.clone().or_else(|| report.cluster.clone());
    report.resource_group.clone_from(&group);
    let needs = ServerNeeds { kind: "slurm", group: group.as_deref(), tree_sync: Some(settings.tree_sync) };
    for check in check_server(server, needs, now).await {
        report.add(check);
    }
    report
}

async fn check_config(report: &mut SlurmReport, settings: &SlurmSettings, config: &SlurmConfig) {
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

async fn check_mapping(report: &mut SlurmReport, settings: &SlurmSettings, config: &SlurmConfig) {
    report.scheduler.mapping.tres =
        settings.tres.iter().map(|(resource, slot)| (resource.clone(), slot.clone())).collect();
    for (resource, slot) in [("cpu", "cpu"), ("mem", "mem"), ("billing", "billing")] {
        report.scheduler.mapping.tres.entry(resource.to_owned()).or_insert_with(|| slot.to_owned());
    }
    report.add(SetupCheck::passed("tres", "cpu, mem and billing are slots, and those of the setting tres"));
    match read_partitions(settings).await {
        Ok(partitions) => {
            let mapped = partitions.tiers.iter().map(|(partition, tier)| PartitionMapping {
                partition: partition.clone(),
                tier: *tier,
                ordered: partitions.is_ordered(partition),
            });
            report.scheduler.mapping.partitions = mapped.collect();
        }
        Err(fault) => report.add(SetupCheck::failed("slurm", fault.detail, "scontrol show partition")),
    }
    match read_tree(&config.cluster).await {
        Ok(tree) => check_tree(report, &tree, &settings.common.group_of(&config.cluster)),
        Err(fault) => report.add(SetupCheck::failed("tree", fault.detail, "sacctmgr show assoc tree")),
    }
}

fn check_tree(report: &mut SlurmReport, tree: &AccountTree, group: &str) {
    let accounts = tree.mapped_accounts().into_iter().map(|mapped| AccountMapping {
        project: mapped.account.clone(),
        account: mapped.account,
        domain: mapped.domain,
        weight: format!("{:.6}", mapped.part),
    });
    report.scheduler.mapping.accounts = accounts.collect();
    let count = report.scheduler.mapping.accounts.len();
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
