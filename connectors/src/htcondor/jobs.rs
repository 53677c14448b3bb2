//! The jobs of `condor_q`, and the owner that each counts for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::names::{check_label, check_name};
use domain::time::Timestamp;

use super::class_ads::ClassAd;
use super::programs::QUEUE;
use super::resources::ResourceMapping;
use crate::accounted_owner::AccountedOwner;
use crate::fault::RoundFault;
use crate::slot_amounts::amount_texts;

/// The accounting group that HTCondor gives to jobs with `nice_user`.
const NICE_GROUP: &str = "nice-user";
/// The universes whose jobs run beside the schedd or elsewhere, and hold no slot: scheduler, grid and local.
const UNIVERSES_WITHOUT_SLOT: [i64; 3] = [7, 9, 12];

/// The attributes that are read of each job, besides the amounts of its resources.
pub const ATTRIBUTES: [&str; 25] = [
    "GlobalJobId",
    "ClusterId",
    "ProcId",
    "User",
    "Owner",
    "AcctGroup",
    "AcctGroupUser",
    "AccountingGroup",
    "JobStatus",
    "JobUniverse",
    "JobPrio",
    "PreJobPrio1",
    "PreJobPrio2",
    "PostJobPrio1",
    "PostJobPrio2",
    "QDate",
    "MaxHosts",
    "RemoteHost",
    "LastRemoteHost",
    "ShadowBday",
    "JobCurrentStartDate",
    "JobLastStartDate",
    "LastVacateTime",
    "LastRemoteWallClockTime",
    "EnteredCurrentStatus",
];

/// The part of its life that a job is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CondorStage {
    Idle,
    Held,
    /// It has a slot.
    Active,
    /// It was removed, or has ended.
    Ending,
}

/// The place of a job among those of its user, in the order in which the schedd offers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfferPlace {
    prios: [Reverse<i64>; 5],
    submitted_at: i64,
    cluster: i64,
    proc: i64,
}

/// A job of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CondorJob {
    /// The id that no other job has, also none of another access point.
    pub id: String,
    /// The accounting principal: the name by which the negotiator knows the user.
    pub principal: String,
    pub owner: AccountedOwner,
    /// False if the server does not take the name of the user or of the group.
    pub has_usable_names: bool,
    pub stage: CondorStage,
    /// False for a job of a universe without slots, which the negotiator never sees.
    pub uses_slots: bool,
    pub place: OfferPlace,
    pub priority: i32,
    pub submitted_at: Timestamp,
    pub requested_slots: BTreeMap<String, String>,
}

impl CondorJob {
    /// Reads a job.
    pub fn read(ad: &ClassAd, resources: &ResourceMapping) -> Result<Self, RoundFault> {
        let (submitted_at, priority) = (ad.needed_time(QUEUE, "QDate")?, ad.integer("JobPrio").unwrap_or_default());
        let prio = |name| Reverse(ad.integer(name).unwrap_or_default());
        Ok(Self {
            id: ad.needed_text(QUEUE, "GlobalJobId")?.to_owned(),
            principal: principal(ad)?,
            owner: owner_of(ad)?,
            has_usable_names: accounted_names(ad)?.are_usable(),
            stage: stage(ad)?,
            uses_slots: uses_slots(ad)?,
            place: OfferPlace {
                prios: [
                    prio("PreJobPrio1"),
                    prio("PreJobPrio2"),
                    Reverse(priority),
                    prio("PostJobPrio1"),
                    prio("PostJobPrio2"),
                ],
                submitted_at: submitted_at.micros(),
                cluster: ad.needed_integer(QUEUE, "ClusterId")?,
                proc: ad.needed_integer(QUEUE, "ProcId")?,
            },
            priority: i32::try_from(priority.clamp(i32::MIN.into(), i32::MAX.into())).unwrap_or_default(),
            submitted_at,
            requested_slots: amount_texts(&resources.requested(ad)),
        })
    }
}

fn stage(ad: &ClassAd) -> Result<CondorStage, RoundFault> {
    match ad.needed_integer(QUEUE, "JobStatus")? {
        1 => Ok(CondorStage::Idle),
        5 => Ok(CondorStage::Held),
        // Running, sending its output, suspended.
        2 | 6 | 7 => Ok(CondorStage::Active),
        // Removed, completed.
        3 | 4 => Ok(CondorStage::Ending),
        other => {
            let id = ad.text("GlobalJobId").unwrap_or("?");
            Err(RoundFault::new("unknown_format", format!("condor_q printed the JobStatus {other} of {id}")))
        }
    }
}

/// True for a job that holds a slot while it runs.
pub fn uses_slots(ad: &ClassAd) -> Result<bool, RoundFault> {
    Ok(!UNIVERSES_WITHOUT_SLOT.contains(&ad.needed_integer(QUEUE, "JobUniverse")?))
}

/// The name by which the negotiator knows the user of a job: the accounting group with its user, or the user alone, each with the
/// domain of the access point.
fn principal(ad: &ClassAd) -> Result<String, RoundFault> {
    let user = ad.needed_text(QUEUE, "User")?;
    let Some(group) = ad.text("AccountingGroup") else { return Ok(user.to_owned()) };
    let (_, domain) = user.rsplit_once('@').unwrap_or((user, user));
    Ok(format!("{group}@{domain}"))
}

/// The names that HTCondor counts the usage of a job for.
#[derive(Clone, Copy)]
struct AccountedNames<'a> {
    user: &'a str,
    /// Empty for a job without an accounting group.
    group: &'a str,
    /// The part of the group before its first point.
    top_group: &'a str,
}

impl AccountedNames<'_> {
    fn are_usable(self) -> bool {
        let is_usable_group = check_label(self.group).is_ok() && check_name(self.top_group).is_ok();
        check_label(self.user).is_ok() && (self.group.is_empty() || is_usable_group)
    }
}

/// The names that a job counts for. The user is the one that the accounting group names, as in HTCondor's own accounting.
fn accounted_names(ad: &ClassAd) -> Result<AccountedNames<'_>, RoundFault> {
    let owner = ad.needed_text(QUEUE, "Owner")?;
    let (group, user) = match (ad.text("AcctGroup"), ad.text("AccountingGroup")) {
        (Some(group), _) => (group, ad.text("AcctGroupUser").unwrap_or(owner)),
        (None, Some(principal)) => principal.rsplit_once('.').unwrap_or(("", principal)),
        (None, None) => ("", owner),
    };
    let group = match group.strip_prefix(NICE_GROUP) {
        Some("") => "",
        Some(rest) => rest.strip_prefix('.').unwrap_or(group),
        None => group,
    };
    Ok(AccountedNames { user, group, top_group: group.split('.').next().unwrap_or_default() })
}

/// The owner of a job.
pub fn owner_of(ad: &ClassAd) -> Result<AccountedOwner, RoundFault> {
    let AccountedNames { user, group, top_group } = accounted_names(ad)?;
    Ok(AccountedOwner::with_usable_names(user, group, top_group))
}
