//! The checks of kernels that schedulers send, before they count.

use super::mistakes::ReportMistake;
use crate::api::kernels::KernelInput;
use crate::domain::changes::SuspensionChanges;
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{KernelPhase, KernelReport, KernelTraits};
use crate::domain::kernel_agents::{KernelAgents, check_agent_names};
use crate::domain::names::{UNKNOWN_DOMAIN, check_charge_class, check_display_name, check_name};
use crate::domain::placement_rules::PlacementRules;
use crate::domain::reading::seconds::{self, MAX_SECONDS};
use crate::domain::reported_status::ReportedStatus;
use crate::domain::time::Timestamp;
use crate::engine::error::Fault;
use crate::engine::people::{PeopleDirectory, lookup};

/// The longest life of a kernel, in days. A run cuts the usage of a kernel into a record for each day.
pub const MAX_KERNEL_DAYS: i32 = 3_660;
pub const LIVES_TOO_LONG: &str = "a kernel lives at most 3660 days";

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

/// The parts of an owner that groups beyond the reach of the report's key have, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignParts {
    pub user: bool,
    pub project: bool,
    pub domain: bool,
}

impl ForeignParts {
    pub fn any(self) -> bool {
        self.user || self.project || self.domain
    }

    /// The parts that are foreign to two senders.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self {
            user: self.user && other.user,
            project: self.project && other.project,
            domain: self.domain && other.domain,
        }
    }
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
    pub foreign: ForeignParts,
    /// The index of the delivery that the report came with.
    pub part: usize,
}

impl IncomingReport {
    /// `part` is the index of the delivery that the report came with.
    pub(super) fn split(self, part: usize) -> (NamedOwner, Box<KernelReport>) {
        let Self { report, user, project, project_stays, mistakes: _ } = self;
        let has_domain = report.domain != UNKNOWN_DOMAIN;
        let (kernel, owner) = (report.id, report.owner);
        let foreign = ForeignParts::default();
        (NamedOwner { kernel, owner, user, project, stays: project_stays, has_domain, foreign, part }, report)
    }
}

/// A report that contradicts what is known.
#[derive(Clone, Debug)]
pub struct RefusedReport {
    /// The index in the batch.
    pub at: usize,
    pub fault: Fault,
}

/// Checks what the types do not. The life of a kernel without an end is measured until `now`.
pub fn check_input(
    mut input: KernelInput,
    people: &PeopleDirectory,
    now: Timestamp,
) -> std::result::Result<IncomingReport, Vec<Fault>> {
    let mut faults = Vec::new();
    let user = collect_fault(lookup::user(people, input.user_uuid.map(UserId), input.user.as_deref()), &mut faults);
    let project =
        collect_fault(lookup::project(people, input.project_id.map(ProjectId), input.project.as_deref()), &mut faults);
    let agents = take_agents(&mut input).unwrap_or_else(|of_agents| {
        faults.extend(of_agents);
        KernelAgents::Unknown
    });
    let mut fault = |pointer: &str, code, said: &str| faults.push(Fault::about(pointer, code, said));
    if let Some(Err(error)) = input.domain_name.as_deref().map(|name| people.check_domain_name(name)) {
        fault("/domain_name", "invalid_name", &error.to_string());
    }
    for (pointer, name) in [("/queue", &input.queue), ("/gang_id", &input.gang_id)] {
        if let Some(Err(error)) = name.as_deref().map(check_name) {
            fault(pointer, "invalid_name", &error.to_string());
        }
    }
    if let Some(Err(error)) = input.charge_class.as_deref().map(check_charge_class) {
        fault("/charge_class", "invalid_name", &error.to_string());
    }
    for (pointer, name) in [("/user_name", &input.user_name), ("/project_name", &input.project_name)] {
        if let Some(Err(error)) = name.as_deref().map(check_display_name) {
            fault(pointer, "invalid_name", &error.to_string());
        }
    }
    check_times(&input, now, &mut fault);
    if input.expected_seconds == Some(0) {
        fault("/expected_seconds", "out_of_range", "must be at least 1");
    }
    if input.gang_min == Some(0) {
        fault("/gang_min", "out_of_range", "must be at least 1");
    }
    let ReportedStatus { phase, doubt } = input.status;
    let is_long = input.expected_seconds > Some(u64::from(MAX_SECONDS));
    let mistakes = doubt.map(ReportMistake::Status).into_iter();
    let mistakes = mistakes.chain(is_long.then_some(ReportMistake::LongRuntime)).collect();
    let KernelInput { labels, tolerations, affinity, .. } = input;
    let rules = PlacementRules { labels, tolerations, affinity: affinity.unwrap_or_default() }.boxed();
    faults.extend(rules.iter().flat_map(|rules| rules.faults()));
    let (Some(user), Some(project), []) = (user, project, faults.as_slice()) else {
        return Err(faults);
    };
    let mut report = Box::new(KernelReport {
        id: KernelId(input.kernel_id),
        session: SessionId(input.session_id),
        owner: Member { user, project },
        domain: input.domain_name.unwrap_or_else(|| UNKNOWN_DOMAIN.to_owned()),
        slots: input.occupied_slots.filtered(|a| !a.is_zero()),
        phase,
        started_at: input.started_at,
        terminated_at: input.terminated_at,
        changes: match (phase, input.status_at) {
            (KernelPhase::Suspended, Some(at)) => SuspensionChanges::one(at, true),
            (KernelPhase::Running, Some(at)) => SuspensionChanges::one(at, false),
            _ => SuspensionChanges::default(),
        },
        expected_seconds: input.expected_seconds.map(seconds::shorten),
        charge_class: input.charge_class,
        submitted_at: input.submitted_at,
        rules,
        traits: KernelTraits {
            agents,
            queue: input.queue,
            priority: input.priority,
            preemptible: input.preemptible,
            critical: input.critical,
            gang_id: input.gang_id,
            gang_min: input.gang_min,
        },
    });
    report.drop_unknown_times();
    let project_stays = input.project.is_some();
    let user = OwnerNames { name: lookup::name_given_to(user.0, input.user), display_name: input.user_name };
    let project =
        OwnerNames { name: lookup::name_given_to(project.0, input.project), display_name: input.project_name };
    Ok(IncomingReport { report, user, project, project_stays, mistakes })
}

/// The agents that the report names, in one of its two keys.
fn take_agents(input: &mut KernelInput) -> std::result::Result<KernelAgents, Vec<Fault>> {
    let named = input.agent_id.take().map(|reported| reported.check("/agent_id")).transpose()?;
    let listed = input.agent_ids.take().map(|names| check_agent_names(names, "/agent_ids")).transpose()?;
    match (named, listed) {
        (Some(named), Some(listed)) if named != listed => {
            Err(vec![Fault::about("/agent_ids", "contradiction", "differs from `agent_id`")])
        }
        (named, listed) => Ok(named.or(listed).unwrap_or_default()),
    }
}

/// Checks the times, which have to fit the status and each other. Each fault has a pointer, a code and a detail. The
/// times beside an unknown status are not used, so they are not checked.
fn check_times(input: &KernelInput, now: Timestamp, mut fault: impl FnMut(&str, &'static str, &str)) {
    let phase = input.status.phase;
    if phase == KernelPhase::Unknown {
        return;
    }
    match (phase, input.started_at, input.terminated_at) {
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
    match (phase, input.status_at) {
        (KernelPhase::Suspended, None) => {
            fault("/status_at", "required", "is missing: a suspended kernel says since when");
        }
        (KernelPhase::Suspended | KernelPhase::Running, Some(at))
            if input.started_at.is_some_and(|start| at < start) =>
        {
            fault("/status_at", "contradiction", "lies before `started_at`");
        }
        _ => {}
    }
    if is_too_long(input.started_at, input.terminated_at, now) {
        fault("/started_at", "out_of_range", &format!("lies too far back: {LIVES_TOO_LONG}"));
    }
}

fn collect_fault<T>(outcome: std::result::Result<T, Fault>, faults: &mut Vec<Fault>) -> Option<T> {
    outcome.map_err(|fault| faults.push(fault)).ok()
}

/// True if a kernel from `start` to `end`, or to `now` if it still runs, lives longer than [`MAX_KERNEL_DAYS`].
pub fn is_too_long(start: Option<Timestamp>, end: Option<Timestamp>, now: Timestamp) -> bool {
    start.is_some_and(|start| end.unwrap_or(now).day().days_since(start.day()) > MAX_KERNEL_DAYS)
}
