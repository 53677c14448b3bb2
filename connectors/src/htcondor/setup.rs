//! The checks of `--check`, and how accounting groups and resources are mapped.

use std::collections::{BTreeMap, BTreeSet};

use api::input_warning::list_names;
use domain::time::Timestamp;
use serde::Serialize;

use super::class_ads::read_ads;
use super::jobs::CondorJob;
use super::pool::{PoolSettings, read_pool, read_version};
use super::programs::{self, PING, STATUS};
use super::queue::is_fixed;
use super::resources::ResourceMapping;
use super::settings::HtCondorSettings;
use super::users::{LEAST_REAL_PRIORITY, NegotiatorUser};
use super::{LEFT_QUEUE, half_life_obstacle, is_charged, read_history_ads, read_negotiator_users, read_queue_ads};
use crate::accounted_owner::AccountedOwner;
use crate::fault::RoundFault;
use crate::server::FairShareServer;
use crate::server_checks::{ServerNeeds, check_server};
use crate::setup_check::{SetupCheck, SetupReport};
use crate::state_file::ConnectorState;

/// The versions that this connector was tested with.
const TESTED_VERSIONS: [&str; 1] = ["23.9."];
const SCHEDD_ARGS: [&str; 4] = ["-schedd", "-json", "-attributes", "Name"];
const RIGHT_ARGS: [&str; 3] = ["-type", "negotiator", "ADMINISTRATOR"];
/// The setting of `PREEMPTION_REQUIREMENTS` with which no running job gives way because of factors.
const NO_PREEMPTION: &str = "false";
/// The most names that a check lists.
const MAX_NAMED: usize = 5;

/// An accounting group as it is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupMapping {
    pub project: String,
    pub domain: String,
    /// The number of its users with jobs.
    pub users: usize,
}

/// How the pool is mapped to the resource group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolMapping {
    pub groups: Vec<GroupMapping>,
    pub resources: BTreeMap<String, String>,
}

/// The part of a report of `--check` that is about HTCondor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HtCondorFacts {
    pub htcondor_version: Option<String>,
    pub mapping: PoolMapping,
}

pub type HtCondorReport = SetupReport<HtCondorFacts>;

/// Makes all checks. Nothing is written.
pub async fn check_pool(
    settings: &HtCondorSettings,
    server: Option<&impl FairShareServer>,
    user: &str,
    now: impl Fn() -> Timestamp,
) -> HtCondorReport {
    let resources = ResourceMapping::new(settings.resources.clone());
    let mut report = HtCondorReport::new(settings.common.mode);
    report.scheduler.mapping.resources = resources.pairs().clone();
    match read_pool(settings).await {
        Err(fault) => {
            let fix = "condor_status -negotiator; CONDOR_CONFIG names the configuration of the pool";
            report.add(SetupCheck::failed("htcondor", fault.detail, fix));
        }
        Ok(pool) => {
            report.cluster = Some(pool.cluster.clone());
            report.add(SetupCheck::passed("htcondor", format!("the negotiator of {} answers", pool.cluster)));
            check_version(&mut report).await;
            report.add(check_schedds(settings).await);
            check_jobs(&mut report, settings, &resources, now()).await;
            check_priorities(&mut report, settings, &pool).await;
            report.add(check_right(user).await);
            report.add(check_preemption(&pool));
            report.add(check_groups(&pool));
        }
    }
    let group = settings.common.resource_group.clone().or_else(|| report.cluster.clone());
    report.resource_group.clone_from(&group);
    let needs = ServerNeeds { kind: "htcondor", group: group.as_deref(), tree_sync: None };
    for check in check_server(server, needs, now).await {
        report.add(check);
    }
    report
}

async fn check_version(report: &mut HtCondorReport) {
    const NAME: &str = "htcondor_version";
    let fix = "stay in the mode shadow at first";
    let check = match read_version().await {
        Ok(version) => {
            report.scheduler.htcondor_version = Some(version.clone());
            if TESTED_VERSIONS.iter().any(|tested| version.starts_with(tested)) {
                SetupCheck::passed(NAME, format!("HTCondor {version}"))
            } else {
                let detail = format!(
                    "HTCondor {version} was not tested; a text of another form ends a round with unknown_format"
                );
                SetupCheck::failed(NAME, detail, fix).as_warning()
            }
        }
        Err(fault) => SetupCheck::failed(NAME, fault.detail, "condor_status -negotiator").as_warning(),
    };
    report.add(check);
}

/// Checks that all access points of the pool are read, because usage at the others would not count.
async fn check_schedds(settings: &HtCondorSettings) -> SetupCheck {
    const NAME: &str = "schedds";
    let read = async {
        let ads = read_ads(STATUS, &programs::read(STATUS, &SCHEDD_ARGS).await?)?;
        let names = ads.iter().filter_map(|ad| ad.text("Name").map(str::to_owned));
        Ok::<BTreeSet<String>, RoundFault>(names.collect())
    };
    let known = match read.await {
        Ok(known) => known,
        Err(fault) => return SetupCheck::failed(NAME, fault.detail, "condor_status -schedd"),
    };
    let (count, read) = (known.len(), settings.schedds.len().max(1));
    if let Some(missing) = settings.schedds.iter().find(|name| !known.contains(*name)) {
        return SetupCheck::failed(NAME, format!("there is no access point {missing:?}"), "condor_status -schedd");
    }
    if count <= read {
        return SetupCheck::passed(NAME, format!("{count} of {count} access points are read"));
    }
    let quoted: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
    let detail = format!("{read} of {count} access points are read, so that usage at the others does not count");
    SetupCheck::failed(NAME, detail, format!("schedds = [{}]", quoted.join(", "))).as_warning()
}

/// Checks that jobs and their runs can be read, and lists the accounting groups.
async fn check_jobs(
    report: &mut HtCondorReport,
    settings: &HtCondorSettings,
    resources: &ResourceMapping,
    now: Timestamp,
) {
    let read = async {
        let ads = read_queue_ads(settings, resources).await?;
        ads.iter().map(|ad| CondorJob::read(ad, resources)).collect::<Result<Vec<CondorJob>, RoundFault>>()
    };
    match read.await {
        Ok(jobs) => {
            report.scheduler.mapping.groups = mapped_groups(&jobs);
            report.add(check_names(&jobs));
        }
        Err(fault) => report.add(SetupCheck::failed("jobs", fault.detail, "condor_q -allusers")),
    }
    report.add(match read_history_ads(settings, resources, &[], LEFT_QUEUE, now).await {
        Ok(_) => SetupCheck::passed("accounting", "condor_history answers"),
        Err(fault) => SetupCheck::failed("accounting", fault.detail, "condor_history -limit 1"),
    });
}

fn mapped_groups(jobs: &[CondorJob]) -> Vec<GroupMapping> {
    let mut users: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for job in jobs {
        let AccountedOwner { user, project, domain } = &job.owner;
        users.entry((domain, project)).or_default().insert(user);
    }
    let mapping = |((domain, project), users): ((&str, &str), BTreeSet<&str>)| GroupMapping {
        project: project.to_owned(),
        domain: domain.to_owned(),
        users: users.len(),
    };
    users.into_iter().map(mapping).collect()
}

/// Checks the names of the users and groups that have jobs.
fn check_names(jobs: &[CondorJob]) -> SetupCheck {
    const NAME: &str = "jobs";
    let renamed = jobs.iter().filter(|job| !job.has_usable_names).map(|job| job.principal.clone());
    let renamed: BTreeSet<String> = renamed.collect();
    if renamed.is_empty() {
        return SetupCheck::passed(NAME, format!("{} jobs are read", jobs.len()));
    }
    let names = list_names(&renamed.into_iter().collect::<Vec<_>>(), MAX_NAMED);
    let detail = format!("the server takes no such names, so that they count as unknown: {names}");
    SetupCheck::failed(NAME, detail, "submit these jobs with another accounting_group").as_warning()
}

async fn check_priorities(report: &mut HtCondorReport, settings: &HtCondorSettings, pool: &PoolSettings) {
    report.add(if pool.records_runs {
        SetupCheck::passed("run_history", "the access points record each run of a job")
    } else {
        let detail =
            "JOB_EPOCH_HISTORY is not set, so that a run that begins and ends between two readings is not known";
        let fix = "JOB_EPOCH_HISTORY = $(SPOOL)/epoch_history on all access points, and then condor_reconfig";
        SetupCheck::failed("run_history", detail, fix).as_warning()
    });
    report.add(match half_life_obstacle(pool) {
        Some(fault) => {
            let fix = "PRIORITY_HALFLIFE = 1.0e15 on the central manager, and then condor_reconfig";
            SetupCheck::failed("half_life", fault.detail, fix)
        }
        None => SetupCheck::passed("half_life", format!("PRIORITY_HALFLIFE is {} seconds", pool.half_life)),
    });
    match read_negotiator_users().await {
        Ok(users) => {
            report.add(check_real_priorities(&users));
            report.add(check_factors(&users, settings, pool));
        }
        Err(fault) => {
            report.add(SetupCheck::failed("real_priority", fault.detail, "condor_userprio -negotiator -allusers"));
        }
    }
}

fn check_real_priorities(users: &BTreeMap<String, NegotiatorUser>) -> SetupCheck {
    const NAME: &str = "real_priority";
    let charged = users.iter().filter(|(_, user)| is_charged(user)).map(|(name, _)| name.clone());
    let charged: Vec<String> = charged.collect();
    let Some(first) = charged.first() else {
        return SetupCheck::passed(NAME, format!("all {} users have the same real priority", users.len()));
    };
    let names = list_names(&charged, MAX_NAMED);
    let detail = format!("HTCondor's own record of usage counts beside the factor for {names}");
    let fix = format!("condor_userprio -setprio '{first}' {LEAST_REAL_PRIORITY}, and so on for the others");
    SetupCheck::failed(NAME, detail, fix)
}

/// Names the users whose factors an admin has set.
fn check_factors(
    users: &BTreeMap<String, NegotiatorUser>,
    settings: &HtCondorSettings,
    pool: &PoolSettings,
) -> SetupCheck {
    const NAME: &str = "factors";
    let default_factor = pool.default_factor;
    let fix = format!("condor_userprio -setfactor USER {default_factor}, if the connector is to order these users");
    let written = match ConnectorState::load(&settings.common.state_dir) {
        Ok(state) => state.written,
        Err(error) => {
            let folder = settings.common.state_dir.display();
            return SetupCheck::failed(NAME, format!("cannot read the state in {folder}: {error}"), fix);
        }
    };
    let fixed = users.iter().filter(|(name, user)| is_fixed(name, Some(user), default_factor, &written));
    let fixed: Vec<String> = fixed.map(|(name, _)| name.clone()).collect();
    if fixed.is_empty() {
        return SetupCheck::passed(NAME, format!("no admin has set a factor; the default is {default_factor}"));
    }
    let detail = format!("an admin has set the factors of {}, which are left alone", list_names(&fixed, MAX_NAMED));
    SetupCheck::failed(NAME, detail, fix).as_warning()
}

/// Asks the negotiator whether the user may set factors. The question changes nothing.
async fn check_right(user: &str) -> SetupCheck {
    const NAME: &str = "administrator_right";
    let fix = format!(
        "NEGOTIATOR.ALLOW_ADMINISTRATOR = $(ALLOW_ADMINISTRATOR), {user}@$(UID_DOMAIN) on the central manager, and then condor_reconfig"
    );
    match programs::run(PING, &RIGHT_ARGS).await {
        Ok(output) if output.is_success() => {
            SetupCheck::passed(NAME, format!("{user} is an administrator of the negotiator"))
        }
        Ok(_) => SetupCheck::failed(NAME, format!("{user} is no administrator of the negotiator"), fix),
        Err(fault) => SetupCheck::failed(NAME, fault.detail, fix),
    }
}

fn check_preemption(pool: &PoolSettings) -> SetupCheck {
    const NAME: &str = "preemption";
    let setting = &pool.preemption_requirements;
    if setting.eq_ignore_ascii_case(NO_PREEMPTION) {
        return SetupCheck::passed(NAME, "no running job gives way because of factors");
    }
    let detail = format!("PREEMPTION_REQUIREMENTS is {setting}, so that running jobs may be ended because of factors");
    SetupCheck::failed(NAME, detail, "PREEMPTION_REQUIREMENTS = False on the central manager").as_warning()
}

fn check_groups(pool: &PoolSettings) -> SetupCheck {
    const NAME: &str = "groups";
    match &pool.group_names {
        None => SetupCheck::passed(NAME, "no group has a quota, so that factors order all users"),
        Some(groups) => {
            let detail = format!(
                "GROUP_NAMES is {groups}: quotas divide the pool first, and factors order the users of one group"
            );
            SetupCheck::failed(NAME, detail, "take GROUP_NAMES away, if the server is to order all users").as_warning()
        }
    }
}
