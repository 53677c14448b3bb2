//! Kernels as schedulers send them, and the checks before they count.

use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::changes::Changes;
use crate::domain::defaults::yes;
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{Phase, Report, Traits};
use crate::domain::names::{UNKNOWN_DOMAIN, check_charge_class, check_display_name, check_name};
use crate::domain::placement_rules::{Affinity, Labels, MAX_TAINTS, PlacementRules, Toleration};
use crate::domain::reading::{ReadOnly, at_most, seconds};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;
use crate::service::Fault;
use crate::service::people::{Directory, who};

/// The longest life of a kernel, in days. A run cuts the usage of a kernel into a record for each day.
pub const MAX_KERNEL_DAYS: i32 = 3_660;
pub const LIVES_TOO_LONG: &str = "a kernel lives at most 3660 days";

/// A kernel as a scheduler sends it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelInput {
    pub kernel_id: Uuid,
    pub session_id: Uuid,
    /// This or `user`.
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// This or `project`.
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID; such a report does not move the project to another domain.
    pub project: Option<String>,
    /// The domain that its usage counts for. Where it is left out, that is the domain of the project, or `unknown` until a report
    /// or an admin names one.
    pub domain_name: Option<String>,
    /// Shown beside the id where there is no name.
    pub user_name: Option<String>,
    pub project_name: Option<String>,
    /// Slot name -> amount: a decimal, or a quantity of Kubernetes such as `500m` or `64Gi`.
    #[schema(schema_with = crate::domain::schemas::quantities)]
    pub occupied_slots: Amounts,
    /// `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`, or another word of Kubernetes or Slurm for one of them.
    pub status: String,
    /// Since when it is suspended, or runs; a kernel that is suspended, or was, says it.
    #[serde(default)]
    pub status_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub terminated_at: Option<Timestamp>,
    /// How long it will run from its start, 1 to 31536000 seconds, for progressive sequences; a later report need not repeat
    /// it.
    #[schema(minimum = 1, maximum = 31_536_000)]
    #[serde(default, deserialize_with = "seconds::expected")]
    pub expected_seconds: Option<u32>,
    /// A class by which its usage is reported, besides owner and domain, such as Slurm's QOS or a priority class of Kubernetes: a
    /// name of at most 64 characters. A later report need not repeat it, may change it for usage that is recorded from then on, and takes it
    /// back with an empty text.
    pub charge_class: Option<String>,
    /// When it was submitted; a later report need not repeat it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub submitted_at: Option<Timestamp>,
    /// Texts by name, at most 64; a later report need not repeat them, nor tolerations and affinity.
    #[serde(default)]
    pub labels: Labels,
    /// The taints of agents on which it may start all the same.
    #[serde(default, deserialize_with = "at_most::<MAX_TAINTS, _, _>")]
    #[schema(max_items = 64)]
    pub tolerations: Vec<Toleration>,
    /// The agents that it needs, and the workloads that it has to be near to or away from.
    pub affinity: Option<Affinity>,
    pub agent_id: Option<String>,
    pub queue: Option<String>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "yes")]
    pub preemptible: bool,
    #[serde(default)]
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
    #[serde(default)]
    #[schema(inline)]
    pub last_usage_recorded_at: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub slices: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub suspensions: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub end_inferred: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub records_from: ReadOnly,
}

/// The names that a report gives for a user or a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerNames {
    /// The name that the id is made from.
    pub name: Option<String>,
    /// The name that is shown beside the id if there is no other.
    pub display_name: Option<String>,
}

/// A checked report, with the names that it gives.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub report: Box<Report>,
    pub user: OwnerNames,
    pub project: OwnerNames,
    /// True if the report cannot move its project to another domain.
    pub project_stays: bool,
}

/// The owner that a report names, and the names that it gives.
#[derive(Clone, Debug)]
pub struct Named {
    pub kernel: KernelId,
    pub owner: Member,
    pub user: OwnerNames,
    pub project: OwnerNames,
    /// True if the report names the project by name, so that it cannot move it to another domain.
    pub stays: bool,
    /// True if the report names a domain other than the placeholder.
    pub has_domain: bool,
    /// The index of the delivery that the report came with.
    pub part: usize,
}

impl Incoming {
    /// `part` is the index of the delivery that the report came with.
    pub(super) fn split(self, part: usize) -> (Named, Box<Report>) {
        let Self { report, user, project, project_stays } = self;
        let has_domain = report.domain != UNKNOWN_DOMAIN;
        let (kernel, owner) = (report.id, report.owner);
        (Named { kernel, owner, user, project, stays: project_stays, has_domain, part }, report)
    }
}

/// A report that contradicts what is known.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The index in the batch.
    pub at: usize,
    pub fault: Fault,
}

impl KernelInput {
    /// Checks what the types do not. The life of a kernel without an end is measured until `now`.
    pub fn check(self, people: &Directory, now: Timestamp) -> std::result::Result<Incoming, Vec<Fault>> {
        let mut faults = Vec::new();
        let user = found(who::user(people, self.user_uuid.map(UserId), self.user.as_deref()), &mut faults);
        let project = found(who::project(people, self.project_id.map(ProjectId), self.project.as_deref()), &mut faults);
        let mut fault = |pointer: &str, code, said: &str| faults.push(Fault::about(pointer, code, said));
        if let Some(Err(error)) = self.domain_name.as_deref().map(|name| people.check_domain_name(name)) {
            fault("/domain_name", "invalid_name", &error.to_string());
        }
        for (pointer, name) in [("/agent_id", &self.agent_id), ("/queue", &self.queue), ("/gang_id", &self.gang_id)] {
            if let Some(Err(error)) = name.as_deref().map(check_name) {
                fault(pointer, "invalid_name", &error.to_string());
            }
        }
        if let Some(Err(error)) = self.charge_class.as_deref().map(check_charge_class) {
            fault("/charge_class", "invalid_name", &error.to_string());
        }
        for (pointer, name) in [("/user_name", &self.user_name), ("/project_name", &self.project_name)] {
            if let Some(Err(error)) = name.as_deref().map(check_display_name) {
                fault(pointer, "invalid_name", &error.to_string());
            }
        }
        let phase = Phase::parse(&self.status);
        match (phase, self.started_at, self.terminated_at) {
            (None, ..) => fault(
                "/status",
                "unknown_status",
                "is not PENDING, RUNNING, SUSPENDED or TERMINATED, nor a word of Kubernetes or Slurm for one of them",
            ),
            (Some(Phase::Running | Phase::Suspended), None, _) => {
                fault("/started_at", "required", "is missing: a running kernel has one");
            }
            (Some(Phase::Terminated), _, None) => {
                fault("/terminated_at", "required", "is missing: a terminated kernel has one");
            }
            (Some(Phase::Unknown | Phase::Pending | Phase::Running | Phase::Suspended), _, Some(_)) => {
                fault("/terminated_at", "contradiction", "belongs to terminated kernels only");
            }
            (Some(Phase::Pending), Some(_), _) => {
                fault("/started_at", "contradiction", "does not go with a pending kernel");
            }
            (_, Some(start), Some(end)) if end < start => {
                fault("/terminated_at", "end_before_start", "lies before `started_at`");
            }
            _ => {}
        }
        match (phase, self.status_at) {
            (Some(Phase::Suspended), None) => {
                fault("/status_at", "required", "is missing: a suspended kernel says since when");
            }
            (Some(Phase::Suspended | Phase::Running), Some(at)) if self.started_at.is_some_and(|start| at < start) => {
                fault("/status_at", "contradiction", "lies before `started_at`");
            }
            _ => {}
        }
        if outlives(self.started_at, self.terminated_at, now) {
            fault("/started_at", "out_of_range", &format!("lies too far back: {LIVES_TOO_LONG}"));
        }
        if let Some(said) = self.expected_seconds.and_then(seconds::fault) {
            fault("/expected_seconds", "out_of_range", said);
        }
        if self.gang_min == Some(0) {
            fault("/gang_min", "out_of_range", "must be at least 1");
        }
        let Self { labels, tolerations, affinity, .. } = self;
        let rules = PlacementRules { labels, tolerations, affinity: affinity.unwrap_or_default() }.boxed();
        faults.extend(rules.iter().flat_map(|rules| rules.faults()));
        let (Some(phase), Some(user), Some(project), []) = (phase, user, project, faults.as_slice()) else {
            return Err(faults);
        };
        let report = Box::new(Report {
            id: KernelId(self.kernel_id),
            session: SessionId(self.session_id),
            owner: Member { user, project },
            domain: self.domain_name.unwrap_or_else(|| UNKNOWN_DOMAIN.to_owned()),
            slots: self.occupied_slots.filtered(|a| !a.is_zero()),
            phase,
            started_at: self.started_at,
            terminated_at: self.terminated_at,
            changes: match (phase, self.status_at) {
                (Phase::Suspended, Some(at)) => Changes::one(at, true),
                (Phase::Running, Some(at)) => Changes::one(at, false),
                _ => Changes::default(),
            },
            expected_seconds: self.expected_seconds,
            charge_class: self.charge_class,
            submitted_at: self.submitted_at,
            rules,
            traits: Traits {
                agent_id: self.agent_id,
                queue: self.queue,
                priority: self.priority,
                preemptible: self.preemptible,
                critical: self.critical,
                gang_id: self.gang_id,
                gang_min: self.gang_min,
            },
        });
        let project_stays = self.project.is_some();
        let user = OwnerNames { name: who::name_given_to(user.0, self.user), display_name: self.user_name };
        let project = OwnerNames { name: who::name_given_to(project.0, self.project), display_name: self.project_name };
        Ok(Incoming { report, user, project, project_stays })
    }
}

fn found<T>(outcome: std::result::Result<T, Fault>, faults: &mut Vec<Fault>) -> Option<T> {
    outcome.map_err(|fault| faults.push(fault)).ok()
}

/// True if a kernel from `start` to `end`, or to `now` if it still runs, lives longer than [`MAX_KERNEL_DAYS`].
pub fn outlives(start: Option<Timestamp>, end: Option<Timestamp>, now: Timestamp) -> bool {
    start.is_some_and(|start| end.unwrap_or(now).day().days_since(start.day()) > MAX_KERNEL_DAYS)
}
