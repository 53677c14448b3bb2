//! A job as a trace tells it, and the stable identities that its names map to.

use super::reason::Reason;
use super::zone::TimesRead;
use crate::domain::identity::{self, is_printable};
use crate::domain::ids::{KernelId, ProjectId, SessionId, UserId};
use crate::domain::kernel::Phase;
use crate::domain::names::check_name;
use crate::domain::slots::{Amounts, MAX_SLOTS};
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

/// Stands for a user, project, domain or resource group that the trace leaves empty. Usage must
/// belong to an owner, and a name that says so beats one that looks real.
pub const UNKNOWN: &str = "unknown";

/// One run of one job: what becomes one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedJob {
    /// Tells this run from every other run in its resource group.
    pub job_key: String,
    /// What `job_key` says without the start that it holds; empty when it holds none.
    pub run_of: String,
    /// Shared by the runs, array tasks or parts of one submission.
    pub session_key: String,
    pub user: String,
    pub project: String,
    pub domain: String,
    pub resource_group: String,
    /// What the trace calls the resource group where another name was asked for; else empty.
    pub told_group: String,
    pub submitted_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    /// What the job held while it ran; a slot the trace says nothing about is absent.
    pub slots: Amounts,
    /// The node, when the job ran on exactly one.
    pub agent: Option<String>,
    pub queue: Option<String>,
    pub priority: i32,
    /// The longest that it was allowed to run, where the trace says so.
    pub limit_seconds: Option<u32>,
    pub times: TimesRead,
}

impl ImportedJob {
    /// What every format demands of a job. Empty names become [`UNKNOWN`]; `group`, when given,
    /// replaces the resource group. A node or queue name that cannot be one is left out, because
    /// no usage hangs on it.
    pub(super) fn checked(mut self, group: Option<&str>) -> Result<Self, Reason> {
        if let Some(group) = group {
            self.told_group = std::mem::replace(&mut self.resource_group, group.to_owned());
        }
        for name in [&mut self.user, &mut self.project, &mut self.domain, &mut self.resource_group] {
            if name.is_empty() {
                UNKNOWN.clone_into(name);
            }
        }
        if self.job_key.is_empty() {
            return Err(Reason::NoJobId);
        }
        if self.session_key.is_empty() {
            self.session_key.clone_from(&self.job_key);
        }
        check_label("job", &self.job_key)?;
        check_label("session", &self.session_key)?;
        check_label("user", &self.user)?;
        check_label("project", &self.project)?;
        check_name(&self.domain).map_err(|_| Reason::BadName("domain"))?;
        check_name(&self.resource_group).map_err(|_| Reason::BadName("resource group"))?;
        self.agent = self.agent.filter(|name| check_name(name).is_ok());
        self.queue = self.queue.filter(|name| check_name(name).is_ok());
        match (self.started_at, self.terminated_at) {
            (None, None) => return Err(Reason::NotStarted),
            (Some(start), Some(end)) if end < start => return Err(Reason::EndBeforeStart),
            _ => {}
        }
        self.slots = self.slots.filtered(|amount| !amount.is_zero());
        if self.slots.len() > MAX_SLOTS {
            return Err(Reason::TooManySlots);
        }
        Ok(self)
    }

    pub fn kernel_id(&self) -> KernelId {
        identity::kernel(&self.resource_group, &self.job_key)
    }

    /// What [`ImportedJob::kernel_id`] is without another name of the resource group: jobs of two clusters that are put
    /// into one group stay two.
    pub fn id_in_trace(&self) -> KernelId {
        let group = if self.told_group.is_empty() { &self.resource_group } else { &self.told_group };
        identity::kernel(group, &self.job_key)
    }

    /// The kernel that the run of the same job with another start is, as the trace tells starts; `None` where a key holds
    /// no start.
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

    pub fn phase(&self) -> Phase {
        match (self.started_at, self.terminated_at) {
            (_, Some(_)) => Phase::Terminated,
            (Some(_), None) => Phase::Running,
            (None, None) => Phase::Pending,
        }
    }

    /// The latest thing that the trace says happened to this job.
    pub fn last_event(&self) -> Option<Timestamp> {
        self.submitted_at.max(self.started_at).max(self.terminated_at)
    }
}

/// The key of the run of a job that began at `start`.
pub(super) fn key_of_run(job: &str, start: Timestamp) -> String {
    format!("{job}@{}", start.micros() / MICROS_PER_SECOND)
}

fn check_label(what: &'static str, name: &str) -> Result<(), Reason> {
    if is_printable(name) { Ok(()) } else { Err(Reason::BadName(what)) }
}
