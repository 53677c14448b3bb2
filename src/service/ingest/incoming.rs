//! Kernels as schedulers send them, and the checks before they count.

use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::mistakes::ReportMistake;
use crate::domain::changes::SuspensionChanges;
use crate::domain::defaults::default_true;
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{KernelPhase, KernelReport, KernelTraits};
use crate::domain::kernel_agents::{KernelAgents, MAX_AGENTS_OF_KERNEL, ReportedAgents, check_agent_names};
use crate::domain::names::{UNKNOWN_DOMAIN, check_charge_class, check_display_name, check_name};
use crate::domain::placement_rules::{Affinity, Labels, MAX_TAINTS, PlacementRules, Toleration};
use crate::domain::reading::seconds::{self, MAX_SECONDS};
use crate::domain::reading::{ReadOnly, at_most, at_most_if_any};
use crate::domain::reported_status::ReportedStatus;
use crate::domain::reported_time::optional_time;
use crate::domain::slots::{SlotAmounts, resource_slots};
use crate::domain::time::Timestamp;
use crate::service::Fault;
use crate::service::people::{PeopleDirectory, lookup};

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
    #[serde(deserialize_with = "resource_slots")]
    #[schema(schema_with = crate::domain::schemas::resource_quantities)]
    pub occupied_slots: SlotAmounts,
    #[schema(schema_with = crate::domain::schemas::reported_status)]
    pub status: ReportedStatus,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = crate::domain::schemas::status_time)]
    pub status_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = crate::domain::schemas::start_time)]
    pub started_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = crate::domain::schemas::end_time)]
    pub terminated_at: Option<Timestamp>,
    /// How long it will run from its start, in seconds, for progressive sequences. A number above 31536000 is taken as 31536000,
    /// with a warning. A later report need not repeat it.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "seconds::optional_seconds_of_any_size")]
    pub expected_seconds: Option<u64>,
    /// A class by which its usage is reported, besides owner and domain, such as Slurm's QOS or a priority class of Kubernetes: a
    /// name of at most 64 characters. A later report need not repeat it, may change it for usage that is recorded from then on, and takes it
    /// back with an empty text.
    pub charge_class: Option<String>,
    #[serde(default, deserialize_with = "optional_time")]
    #[schema(schema_with = crate::domain::schemas::submission_time)]
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
    #[schema(schema_with = crate::domain::schemas::reported_agents)]
    pub agent_id: Option<ReportedAgents>,
    /// The agents as answers have them; counts where `agent_id` names none, and must not differ from it otherwise.
    #[serde(default, deserialize_with = "at_most_if_any::<MAX_AGENTS_OF_KERNEL, _, _>")]
    #[schema(max_items = 10_000)]
    pub agent_ids: Option<Vec<String>>,
    pub queue: Option<String>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
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
pub struct IncomingReport {
    pub report: Box<KernelReport>,
    pub user: OwnerNames,
    pub project: OwnerNames,
    /// True if the report cannot move its project to another domain.
    pub project_stays: bool,
    /// Mistakes that the check found, such as an unknown status. The report is taken nevertheless.
    pub mistakes: Vec<ReportMistake>,
}

/// The owner that a report names, and the names that it gives.
#[derive(Clone, Debug)]
pub struct NamedOwner {
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

impl IncomingReport {
    /// `part` is the index of the delivery that the report came with.
    pub(super) fn split(self, part: usize) -> (NamedOwner, Box<KernelReport>) {
        let Self { report, user, project, project_stays, mistakes: _ } = self;
        let has_domain = report.domain != UNKNOWN_DOMAIN;
        let (kernel, owner) = (report.id, report.owner);
        (NamedOwner { kernel, owner, user, project, stays: project_stays, has_domain, part }, report)
    }
}

/// A report that contradicts what is known.
#[derive(Clone, Debug)]
pub struct RefusedReport {
    /// The index in the batch.
    pub at: usize,
    pub fault: Fault,
}

impl KernelInput {
    /// Checks what the types do not. The life of a kernel without an end is measured until `now`.
    pub fn check(
        mut self,
        people: &PeopleDirectory,
        now: Timestamp,
    ) -> std::result::Result<IncomingReport, Vec<Fault>> {
        let mut faults = Vec::new();
        let user = collect_fault(lookup::user(people, self.user_uuid.map(UserId), self.user.as_deref()), &mut faults);
        let project = collect_fault(
            lookup::project(people, self.project_id.map(ProjectId), self.project.as_deref()),
            &mut faults,
        );
        let agents = self.take_agents().unwrap_or_else(|of_agents| {
            faults.extend(of_agents);
            KernelAgents::Unknown
        });
        let mut fault = |pointer: &str, code, said: &str| faults.push(Fault::about(pointer, code, said));
        if let Some(Err(error)) = self.domain_name.as_deref().map(|name| people.check_domain_name(name)) {
            fault("/domain_name", "invalid_name", &error.to_string());
        }
        for (pointer, name) in [("/queue", &self.queue), ("/gang_id", &self.gang_id)] {
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
        self.check_times(now, &mut fault);
        if self.expected_seconds == Some(0) {
            fault("/expected_seconds", "out_of_range", "must be at least 1");
        }
        if self.gang_min == Some(0) {
            fault("/gang_min", "out_of_range", "must be at least 1");
        }
        let ReportedStatus { phase, doubt } = self.status;
        let is_long = self.expected_seconds > Some(u64::from(MAX_SECONDS));
        let mistakes = doubt.map(ReportMistake::Status).into_iter();
        let mistakes = mistakes.chain(is_long.then_some(ReportMistake::LongRuntime)).collect();
        let Self { labels, tolerations, affinity, .. } = self;
        let rules = PlacementRules { labels, tolerations, affinity: affinity.unwrap_or_default() }.boxed();
        faults.extend(rules.iter().flat_map(|rules| rules.faults()));
        let (Some(user), Some(project), []) = (user, project, faults.as_slice()) else {
            return Err(faults);
        };
        let mut report = Box::new(KernelReport {
            id: KernelId(self.kernel_id),
            session: SessionId(self.session_id),
            owner: Member { user, project },
            domain: self.domain_name.unwrap_or_else(|| UNKNOWN_DOMAIN.to_owned()),
            slots: self.occupied_slots.filtered(|a| !a.is_zero()),
            phase,
            started_at: self.started_at,
            terminated_at: self.terminated_at,
            changes: match (phase, self.status_at) {
                (KernelPhase::Suspended, Some(at)) => SuspensionChanges::one(at, true),
                (KernelPhase::Running, Some(at)) => SuspensionChanges::one(at, false),
                _ => SuspensionChanges::default(),
            },
            expected_seconds: self.expected_seconds.map(seconds::shorten),
            charge_class: self.charge_class,
            submitted_at: self.submitted_at,
            rules,
            traits: KernelTraits {
                agents,
                queue: self.queue,
                priority: self.priority,
                preemptible: self.preemptible,
                critical: self.critical,
                gang_id: self.gang_id,
                gang_min: self.gang_min,
            },
        });
        report.drop_unknown_times();
        let project_stays = self.project.is_some();
        let user = OwnerNames { name: lookup::name_given_to(user.0, self.user), display_name: self.user_name };
        let project =
            OwnerNames { name: lookup::name_given_to(project.0, self.project), display_name: self.project_name };
        Ok(IncomingReport { report, user, project, project_stays, mistakes })
    }

    /// The agents that the report names, in one of its two keys.
    fn take_agents(&mut self) -> std::result::Result<KernelAgents, Vec<Fault>> {
        let named = self.agent_id.take().map(|reported| reported.check("/agent_id")).transpose()?;
        let listed = self.agent_ids.take().map(|names| check_agent_names(names, "/agent_ids")).transpose()?;
        match (named, listed) {
            (Some(named), Some(listed)) if named != listed => {
                Err(vec![Fault::about("/agent_ids", "contradiction", "differs from `agent_id`")])
            }
            (named, listed) => Ok(named.or(listed).unwrap_or_default()),
        }
    }

    /// Checks the times, which have to fit the status and each other. Each fault has a pointer, a code and a detail. The
    /// times beside an unknown status are not used, so they are not checked.
    fn check_times(&self, now: Timestamp, mut fault: impl FnMut(&str, &'static str, &str)) {
        let phase = self.status.phase;
        if phase == KernelPhase::Unknown {
            return;
        }
        match (phase, self.started_at, self.terminated_at) {
            (KernelPhase::Running | KernelPhase::Suspended, None, _) => {
                fault("/started_at", "required", "is missing: a running kernel has one");
            }
            (KernelPhase::Terminated, _, None) => {
                fault("/terminated_at", "required", "is missing: a terminated kernel has one");
            }
            (KernelPhase::Pending | KernelPhase::Running | KernelPhase::Suspended, _, Some(_)) => {
                fault("/terminated_at", "contradiction", "belongs to terminated kernels only");
            }
            (KernelPhase::Pending, Some(_), _) => {
                fault("/started_at", "contradiction", "does not go with a pending kernel");
            }
            (_, Some(start), Some(end)) if end < start => {
                fault("/terminated_at", "end_before_start", "lies before `started_at`");
            }
            _ => {}
        }
        match (phase, self.status_at) {
            (KernelPhase::Suspended, None) => {
                fault("/status_at", "required", "is missing: a suspended kernel says since when");
            }
            (KernelPhase::Suspended | KernelPhase::Running, Some(at))
                if self.started_at.is_some_and(|start| at < start) =>
            {
                fault("/status_at", "contradiction", "lies before `started_at`");
            }
            _ => {}
        }
        if is_too_long(self.started_at, self.terminated_at, now) {
            fault("/started_at", "out_of_range", &format!("lies too far back: {LIVES_TOO_LONG}"));
        }
    }
}

fn collect_fault<T>(outcome: std::result::Result<T, Fault>, faults: &mut Vec<Fault>) -> Option<T> {
    outcome.map_err(|fault| faults.push(fault)).ok()
}

/// True if a kernel from `start` to `end`, or to `now` if it still runs, lives longer than [`MAX_KERNEL_DAYS`].
pub fn is_too_long(start: Option<Timestamp>, end: Option<Timestamp>, now: Timestamp) -> bool {
    start.is_some_and(|start| end.unwrap_or(now).day().days_since(start.day()) > MAX_KERNEL_DAYS)
}
