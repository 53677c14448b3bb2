//! A job in a trace, and the stable ids that its names are mapped to.

use super::missing_amounts::MissingAmounts;
use super::no_name::given_name;
use super::reason::DropReason;
use super::skipped::SkippedFields;
use super::utf8::NOT_UTF8;
use super::zone::TimesRead;
use crate::domain::identity;
use crate::domain::ids::{KernelId, ProjectId, SessionId, UserId};
use crate::domain::kernel::KernelPhase;
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::names::{check_name, is_label_or_empty};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

/// The name for a user, project, domain or resource group that the trace leaves empty. Usage must belong to an owner,
/// and this name shows that it is not known.
pub const UNKNOWN_NAME: &str = "unknown";

/// One run of one job, which becomes one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedJob {
    /// Distinguishes this run from every other run in its resource group.
    pub job_key: String,
    /// The part of `job_key` before the start; empty if the key contains no start.
    pub run_of: String,
    /// Shared by the runs, array tasks or parts of one submission.
    pub session_key: String,
    pub user: String,
    pub project: String,
    pub domain: String,
    pub resource_group: String,
    /// The trace's name of the resource group, if another name was given on the command line; otherwise empty.
    pub given_group: String,
    pub submitted_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    /// The amounts that the job held while it ran. Slots that the trace does not name are absent.
    pub slots: SlotAmounts,
    /// Resources that are slices of devices and count as whole ones in `slots`.
    pub device_slices: Vec<String>,
    /// Resources that the user chose as slots of their own.
    pub chosen_resources: Vec<String>,
    /// The nodes that the job ran on, where the trace names them.
    pub agents: KernelAgents,
    pub queue: Option<String>,
    /// Slurm's QOS.
    pub qos: String,
    /// The class that its usage is recorded with; empty: none.
    pub charge_class: String,
    pub priority: i32,
    /// The time limit, if the trace contains it.
    pub limit_seconds: Option<u32>,
    /// The runtime in microseconds, if the trace contains it in addition to start and end. The shorter of the two
    /// counts, because a suspended job used nothing meanwhile.
    pub run_micros: Option<i64>,
    /// True if the runtime was shorter, so that the accounted end is before that of the trace.
    pub charged_by_run_time: bool,
    pub times: TimesRead,
    /// True if the trace names no user.
    pub lacks_user: bool,
    /// True if the trace names no project.
    pub lacks_project: bool,
    pub skipped: SkippedFields,
}

impl ImportedJob {
    /// Checks that the job has everything that all formats require: an owner, a possible start and end, and an amount
    /// of some slot unless rows without one are taken. Empty names and words for none become [`UNKNOWN_NAME`]; `group`, if
    /// given, replaces the resource group. Any other field that cannot be read is left out, because no usage depends on it.
    pub(super) fn checked(mut self, group: Option<&str>, missing_amounts: MissingAmounts) -> Result<Self, DropReason> {
        for name in [&mut self.user, &mut self.project, &mut self.domain, &mut self.resource_group] {
            if given_name(name).is_empty() {
                name.clear();
            }
        }
        if let Some(group) = group {
            self.given_group = std::mem::replace(&mut self.resource_group, group.to_owned());
        }
        (self.lacks_user, self.lacks_project) = (self.user.is_empty(), self.project.is_empty());
        self.skip_bad_labels();
        for name in [&mut self.user, &mut self.project, &mut self.domain, &mut self.resource_group] {
            if name.is_empty() {
                UNKNOWN_NAME.clone_into(name);
            }
        }
        if self.job_key.is_empty() {
            return Err(DropReason::NoJobId);
        }
        if self.session_key.is_empty() {
            self.session_key.clone_from(&self.job_key);
        }
        check_label("job", &self.job_key)?;
        check_label("user", &self.user)?;
        check_label("project", &self.project)?;
        check_utf8(&self.resource_group)?;
        check_name(&self.resource_group).map_err(|_| DropReason::BadName("resource group"))?;
        match (self.started_at, self.terminated_at) {
            (None, None) => return Err(DropReason::NotStarted),
            (Some(start), Some(end)) if end < start => return Err(DropReason::EndBeforeStart),
            _ => {}
        }
        self.charge_run_time();
        let names_none = self.slots.is_empty();
        self.slots = self.slots.filtered(|amount| !amount.is_zero());
        if self.started_at.is_none() || !self.slots.is_empty() {
            return Ok(self);
        }
        if let Some(fault) = self.skipped.amount_fault() {
            return Err(fault);
        }
        // A job that ran for no time used nothing, whatever it held, and an amount of 0 is known.
        let is_unknown =
            missing_amounts == MissingAmounts::Dropped && names_none && self.started_at != self.terminated_at;
        if is_unknown { Err(DropReason::NoAmount) } else { Ok(self) }
    }

    /// Removes optional names that are not valid.
    fn skip_bad_labels(&mut self) {
        let Self { session_key, domain, charge_class, agents, queue, skipped, .. } = self;
        if check_label("session", session_key).is_err() {
            skipped.add("session", session_key);
            session_key.clear();
        }
        let is_name = |name: &str| check_name(name).is_ok() && check_utf8(name).is_ok();
        for (label, name) in [("domain", domain), ("charge class", charge_class)] {
            if !name.is_empty() && !is_name(name) {
                skipped.add(label, name);
                name.clear();
            }
        }
        let bad_node = agents.names().iter().find(|name| !is_name(name)).cloned();
        if bad_node.is_some() {
            *agents = KernelAgents::Unknown;
        }
        for (label, bad) in [("node", bad_node), ("queue", queue.take_if(|name| !is_name(name)))] {
            // A field with invalid UTF-8 may already be noted under its own name.
            if let Some(bad) = bad
                && !bad.is_empty()
                && !skipped.has_value(&bad)
            {
                skipped.add(label, &bad);
            }
        }
    }

    /// Moves the end to the time after which the job had run as long as the trace says.
    fn charge_run_time(&mut self) {
        let (Some(start), Some(end), Some(run)) = (self.started_at, self.terminated_at, self.run_micros) else {
            return;
        };
        let charged = start.plus_micros(run.max(0));
        if charged < end {
            self.terminated_at = Some(charged);
            self.charged_by_run_time = true;
        }
    }

    pub fn kernel_id(&self) -> KernelId {
        identity::kernel(&self.resource_group, &self.job_key)
    }

    /// The [`ImportedJob::kernel_id`] without a replaced resource group. Jobs of two clusters that are put into one
    /// group stay different.
    pub fn id_in_trace(&self) -> KernelId {
        let group = if self.given_group.is_empty() { &self.resource_group } else { &self.given_group };
        identity::kernel(group, &self.job_key)
    }

    /// The kernel of the run of the same job with another start, in the trace's times; `None` if the key contains no
    /// start.
    pub fn kernel_of_run(&self, start: Timestamp) -> Option<KernelId> {
        let key = (!self.run_of.is_empty()).then(|| key_of_run(&self.run_of, start))?;
        Some(identity::kernel(&self.resource_group, &key))
    }

    pub fn session_id(&self) -> SessionId {
        identity::session(&self.resource_group, &self.session_key)
    }

    pub fn user_id(&self) -> UserId {
        identity::user(&self.user)
    }

    pub fn project_id(&self) -> ProjectId {
        identity::project(&self.project)
    }

    pub fn phase(&self) -> KernelPhase {
        match (self.started_at, self.terminated_at) {
            (_, Some(_)) => KernelPhase::Terminated,
            (Some(_), None) => KernelPhase::Running,
            (None, None) => KernelPhase::Pending,
        }
    }

    /// The time of the last event of the job in the trace.
    pub fn last_event(&self) -> Option<Timestamp> {
        self.submitted_at.max(self.started_at).max(self.terminated_at)
    }
}

/// The start of a run that took `run_micros` until `end`; `None` before the year 1970.
pub(super) fn start_of_run(end: Timestamp, run_micros: i64) -> Option<Timestamp> {
    end.micros().checked_sub(run_micros).filter(|micros| *micros >= 0).map(Timestamp::from_micros)
}

/// The key of the run of a job that began at `start`.
pub fn key_of_run(job: &str, start: Timestamp) -> String {
    format!("{job}@{}", start.micros() / MICROS_PER_SECOND)
}

fn check_utf8(name: &str) -> Result<(), DropReason> {
    if name.contains(NOT_UTF8) { Err(DropReason::InvalidUtf8) } else { Ok(()) }
}

fn check_label(what: &'static str, name: &str) -> Result<(), DropReason> {
    check_utf8(name)?;
    if is_label_or_empty(name) { Ok(()) } else { Err(DropReason::BadName(what)) }
}
