//! Kernels as schedulers report them. Reports are merged, so they may arrive in any order and any number of times.

use std::ops::Deref;
use std::sync::Arc;

use super::changes::{MAX_CHANGES, SuspensionChanges};
use super::defaults::default_true;
use super::ids::{KernelId, KernelKey, Member, SessionId};
use super::interned::InternPool;
use super::kernel_agents::KernelAgents;
use super::placement_rules::PlacementRules;
use super::run_times::RunTimes;
use super::slots::SlotAmounts;
use super::time::{Day, TimeSpan, Timestamp};
use super::usage_dimensions::UsageDimensions;

/// The phase of a kernel's life. A later phase replaces an earlier one, in whatever order reports arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelPhase {
    /// The scheduler does not know, or has a status that the server does not know. The times of such a report do not count: it
    /// neither starts nor ends a kernel.
    Unknown,
    Pending,
    Running,
    /// The kernel has started and not ended, but uses and holds nothing at present.
    Suspended,
    Terminated,
}

impl KernelPhase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Suspended => "SUSPENDED",
            Self::Terminated => "TERMINATED",
        }
    }

    /// True if the kernel holds or asks for anything.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }

    fn stage(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Pending => 1,
            Self::Running | Self::Suspended => 2,
            Self::Terminated => 3,
        }
    }
}

/// The scheduling properties of a report, besides owner and times.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTraits {
    pub agents: KernelAgents,
    pub queue: Option<String>,
    pub priority: i32,
    pub preemptible: bool,
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
}

/// The values of absent properties, the same as in the API.
impl Default for KernelTraits {
    fn default() -> Self {
        let preemptible = default_true();
        Self {
            agents: KernelAgents::Unknown,
            queue: None,
            priority: 0,
            preemptible,
            critical: false,
            gang_id: None,
            gang_min: None,
        }
    }
}

/// One valid report of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelReport {
    pub id: KernelId,
    pub session: SessionId,
    pub owner: Member,
    pub domain: String,
    pub slots: SlotAmounts,
    pub phase: KernelPhase,
    pub started_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    /// The suspensions of the kernel.
    pub changes: SuspensionChanges,
    /// The announced runtime from the start of the kernel, if a report contained one.
    pub expected_seconds: Option<u32>,
    /// The class that usage is recorded with from now on; `None` if no report contained one.
    pub charge_class: Option<String>,
    /// The submission, if a report contained it.
    pub submitted_at: Option<Timestamp>,
    /// The rules of its place; absent for most kernels.
    pub rules: Option<Box<PlacementRules>>,
    pub traits: KernelTraits,
}

impl KernelReport {
    /// Removes a charge class that is empty. A report sends an empty one to take back the class of an earlier report.
    fn forget_empty_class(&mut self) {
        self.charge_class = self.charge_class.take().filter(|class| !class.is_empty());
    }

    /// Removes the times beside an unknown phase, which must neither start nor end usage.
    pub fn drop_unknown_times(&mut self) {
        if self.phase == KernelPhase::Unknown {
            (self.started_at, self.terminated_at, self.changes) = Default::default();
        }
    }

    /// Sets the phase that follows from all reported values.
    fn settle_phase(&mut self) {
        self.phase = match self.phase {
            KernelPhase::Unknown => KernelPhase::Pending,
            KernelPhase::Running | KernelPhase::Suspended => {
                if self.changes.ends_suspended() {
                    KernelPhase::Suspended
                } else {
                    KernelPhase::Running
                }
            }
            reported => reported,
        };
    }
}

/// A kernel with its accounting cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// `None` if the kernel is not in the database yet.
    pub key: Option<KernelKey>,
    /// In a box, because the report is large and is passed on while a request is processed.
    pub report: Box<KernelReport>,
    /// `last_usage_recorded_at`: usage before this time is recorded.
    pub cursor: Option<Timestamp>,
    /// True if the kernel has ended and its last slice is recorded, so that no run selects it again.
    pub settled: bool,
    /// True if the end was assumed because no report came. A later report that the kernel runs revokes it.
    pub end_inferred: bool,
    /// The suspensions that the existing records are based on, if the records have to be replaced because of other
    /// suspensions.
    pub applied: Option<SuspensionChanges>,
    /// The time of the last report as stored: exact to a few minutes, and before the group's last snapshot.
    pub seen_at: Option<Timestamp>,
    /// The time of the first report; `None`: unknown.
    pub reported_at: Option<Timestamp>,
}

/// Kernels with their state before.
pub type ChangedKernels = [(Option<Kernel>, Kernel)];

/// The rule for the time between an inferred end and the report that disproved it.
#[derive(Clone, Copy, Debug)]
pub struct InferredEndRule {
    pub now: Timestamp,
    /// Time before this instant does not count.
    pub kept_from: Timestamp,
}

/// The reason why a report contradicts what is known about its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportConflict {
    #[error("the kernel belongs to another user or project; a rescheduled kernel needs a new kernel_id")]
    Owner,
    #[error("the kernel ends before it starts")]
    End,
    #[error("usage since the kernel's start is recorded already; a rescheduled kernel needs a new kernel_id")]
    Start,
    #[error("the records of what the ended kernel used then are purged, so its end cannot move back there")]
    PurgedEnd,
    #[error("the records of what the ended kernel used are purged, so its slots cannot be corrected")]
    PurgedSlots,
    #[error("the kernel is suspended; a report that it runs says with `status_at` since when")]
    Change,
    #[error("the kernel was suspended and went on more than {} times", MAX_CHANGES / 2)]
    TooManyChanges,
}

impl ReportConflict {
    /// The key of the report that is in conflict.
    pub fn key(self) -> &'static str {
        match self {
            Self::Owner => "user_uuid",
            Self::Start => "started_at",
            Self::End | Self::PurgedEnd => "terminated_at",
            Self::PurgedSlots => "occupied_slots",
            Self::Change | Self::TooManyChanges => "status_at",
        }
    }

    /// The code of the fault.
    pub fn code(self) -> &'static str {
        match self {
            Self::Owner | Self::Start | Self::End => "conflict",
            Self::PurgedEnd | Self::PurgedSlots => "purged",
            Self::Change => "required",
            Self::TooManyChanges => "too_many_changes",
        }
    }
}

impl Kernel {
    /// The runtime of the kernel and the day on which it ended; `None` until its usage is recorded to the end.
    pub fn run_times(&self) -> Option<(Day, RunTimes)> {
        let KernelReport { started_at, terminated_at, changes, expected_seconds, .. } = &*self.report;
        let (start, end) = (*started_at.as_ref()?, terminated_at.filter(|_| self.settled)?);
        Some((end.day(), RunTimes::of(start, end, changes, *expected_seconds)))
    }

    /// Merges a report into what is known about its kernel.
    pub fn merge(known: Option<Self>, report: impl Into<Box<KernelReport>>) -> Result<Self, ReportConflict> {
        let mut report = report.into();
        report.drop_unknown_times();
        let Some(known) = known else {
            if ends_before_start(&report) {
                return Err(ReportConflict::End);
            }
            report.settle_phase();
            report.forget_empty_class();
            let settled = never_ran(&report);
            let (key, cursor, applied, seen_at, reported_at) = Default::default();
            return Ok(Self { key, report, cursor, settled, end_inferred: false, applied, seen_at, reported_at });
        };
        let Self { key, report: old, cursor, settled, end_inferred, applied, seen_at, reported_at } = known;
        if old.owner != report.owner {
            return Err(ReportConflict::Owner);
        }
        let moved = report.started_at.is_some() && report.started_at != old.started_at;
        let used_nothing = settled && cursor == old.started_at;
        if moved && cursor.is_some() && !used_nothing {
            return Err(ReportConflict::Start);
        }
        let cursor = cursor.filter(|_| !moved);
        if old.phase == KernelPhase::Suspended && report.phase == KernelPhase::Running && report.changes.is_empty() {
            return Err(ReportConflict::Change);
        }
        let before = old.changes.clone();
        let (mut merged, other) = if report.phase.stage() < old.phase.stage() { (old, report) } else { (report, old) };
        merged.started_at = merged.started_at.or(other.started_at);
        merged.terminated_at = merged.terminated_at.or(other.terminated_at);
        merged.changes.merge(&other.changes);
        // A later report may omit the announced runtime, the charge class, the submission and the rules that an earlier report
        // contained.
        merged.expected_seconds = merged.expected_seconds.or(other.expected_seconds);
        merged.charge_class = merged.charge_class.or(other.charge_class);
        merged.forget_empty_class();
        merged.submitted_at = merged.submitted_at.or(other.submitted_at);
        match (&mut merged.rules, other.rules) {
            (Some(rules), Some(other)) => rules.complete(*other),
            (rules @ None, other) => *rules = other,
            (Some(_), None) => {}
        }
        merged.settle_phase();
        if ends_before_start(&merged) {
            return Err(ReportConflict::End);
        }
        if merged.changes.count() > MAX_CHANGES {
            return Err(ReportConflict::TooManyChanges);
        }
        let settled = false;
        let mut kernel = Self { key, report: merged, cursor, settled, end_inferred, applied, seen_at, reported_at };
        kernel.note_applied(&before);
        kernel.settle();
        Ok(kernel)
    }

    /// The kernel with `now` as the time of its first report, if it is a new one.
    #[must_use]
    pub fn first_reported_by(mut self, now: Timestamp) -> Self {
        if self.key.is_none() {
            self.reported_at.get_or_insert(now);
        }
        self
    }

    /// The kernel before `report`, without an inferred end that the report disproves. Time after that end that does not
    /// count by `rule` becomes a suspension.
    #[must_use]
    pub fn without_disproved_end(mut self, report: &KernelReport, rule: InferredEndRule) -> Self {
        let (true, Some(end)) = (self.end_inferred && report.phase.stage() > 1, self.report.terminated_at) else {
            return self;
        };
        let before = self.report.changes.clone();
        let until = report.terminated_at.map_or(rule.now, |reported| reported.min(rule.now)).min(rule.kept_from);
        if until > end && report.phase != KernelPhase::Suspended {
            self.report.changes.note(end, true);
            self.report.changes.note(until, false);
        }
        self.report.terminated_at = None;
        self.report.phase = KernelPhase::Running;
        self.report.settle_phase();
        self.end_inferred = false;
        self.note_applied(&before);
        self.settle();
        self
    }

    /// The kernel with an end that is assumed because no report came.
    #[must_use]
    pub fn ended_at(mut self, end: Timestamp) -> Self {
        let start = self.report.started_at.unwrap_or(end);
        self.report.terminated_at = Some(end.max(start));
        self.report.phase = KernelPhase::Terminated;
        self.end_inferred = true;
        self.settle();
        self
    }

    /// Keeps the suspensions that the existing records are based on, if the known suspensions now give other records.
    fn note_applied(&mut self, before: &SuspensionChanges) {
        let Some(recorded) = self.recorded() else { return };
        let now = &self.report.changes;
        let differs = now.active_but_not_in(before, recorded).chain(before.active_but_not_in(now, recorded)).next();
        if differs.is_some() && self.applied.is_none() {
            self.applied = Some(before.clone());
        }
    }

    /// The span in which usage is recorded.
    fn recorded(&self) -> Option<TimeSpan> {
        TimeSpan::new(self.report.started_at?, self.cursor?)
    }

    fn settle(&mut self) {
        let recorded = self.cursor.is_some() && self.report.terminated_at == self.cursor && self.applied.is_none();
        self.settled = never_ran(&self.report) || recorded;
    }

    /// Fails if `report` corrects the usage before `kept_from` of a kernel that has ended. The records of that time are
    /// purged, so usage could not be taken back.
    pub fn check_purged(&self, report: &KernelReport, kept_from: Timestamp) -> Result<(), ReportConflict> {
        let (Some(start), Some(cursor)) = (self.report.started_at, self.cursor) else { return Ok(()) };
        let ended_there = self.report.phase == KernelPhase::Terminated && start < kept_from && start < cursor;
        if !ended_there || report.phase != KernelPhase::Terminated {
            return Ok(());
        }
        if report.terminated_at.is_some_and(|end| end < cursor && end < kept_from) {
            return Err(ReportConflict::PurgedEnd);
        }
        if self.settled && report.slots != self.report.slots { Err(ReportConflict::PurgedSlots) } else { Ok(()) }
    }
}

/// The properties of a started kernel that accounting needs. No run changes them.
#[derive(Clone, Debug, PartialEq)]
pub struct StartedKernel {
    pub key: KernelKey,
    pub id: KernelId,
    pub owner: Member,
    /// The dimensions of the usage that is recorded from now on.
    pub dimensions: UsageDimensions,
    pub slots: Arc<SlotAmounts>,
    pub phase: KernelPhase,
    pub started_at: Timestamp,
    pub terminated_at: Option<Timestamp>,
    pub changes: SuspensionChanges,
    /// The suspensions that the existing records are based on, if the records have to be replaced.
    pub applied: Option<SuspensionChanges>,
    /// The announced runtime.
    pub expected_seconds: Option<u32>,
}

/// A started kernel whose last slice is not recorded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenKernel {
    pub kernel: Arc<StartedKernel>,
    pub cursor: Option<Timestamp>,
    /// True if the cursor is that of the group's last run.
    pub in_step: bool,
}

impl Deref for OpenKernel {
    type Target = StartedKernel;

    fn deref(&self) -> &StartedKernel {
        &self.kernel
    }
}

/// The values that kernels of a group share, each stored once.
#[derive(Clone, Debug, Default)]
pub struct SharedKernelValues {
    /// Domains and charge classes.
    names: InternPool<str>,
    slots: InternPool<SlotAmounts>,
}

impl SharedKernelValues {
    fn name(&mut self, name: &str) -> Arc<str> {
        self.names.get(name, || Arc::from(name))
    }

    fn slots(&mut self, slots: &SlotAmounts) -> Arc<SlotAmounts> {
        self.slots.get(slots, || Arc::new(slots.clone()))
    }
}

/// The result of a run for one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelAdvance {
    /// The kernel has ended, and all of it is recorded.
    Settled,
    /// The cursor moved to the time of the run.
    Moved,
    /// Nothing was recorded.
    Stayed,
}

impl OpenKernel {
    /// `None` if no run has to record anything of the kernel.
    pub fn of(kernel: &Kernel, common: &mut SharedKernelValues) -> Option<Self> {
        let report = &kernel.report;
        let started_at = report.started_at.filter(|_| !kernel.settled)?;
        let started = StartedKernel {
            key: kernel.key?,
            id: report.id,
            owner: report.owner,
            dimensions: UsageDimensions {
                domain: common.name(&report.domain),
                charge_class: common.name(report.charge_class.as_deref().unwrap_or_default()),
            },
            slots: common.slots(&report.slots),
            phase: report.phase,
            started_at,
            terminated_at: report.terminated_at,
            changes: report.changes.clone(),
            applied: kernel.applied.clone(),
            expected_seconds: report.expected_seconds,
        };
        Some(Self { kernel: Arc::new(started), cursor: kernel.cursor, in_step: false })
    }

    /// True if a run that records the whole group leaves the kernel unchanged.
    pub fn keeps_step(&self) -> bool {
        self.in_step && self.cursor.is_some()
    }

    /// Notes that the records are now based on the known suspensions.
    pub fn recounted(&mut self) {
        Arc::make_mut(&mut self.kernel).applied = None;
    }

    /// Sets the end of the kernel.
    pub fn end(&mut self, end: Timestamp) {
        let kernel = Arc::make_mut(&mut self.kernel);
        kernel.terminated_at = Some(end);
        kernel.phase = KernelPhase::Terminated;
    }

    /// The runtime of the kernel and the day on which it ended; `None` before it has ended.
    pub fn run_times(&self) -> Option<(Day, RunTimes)> {
        let end = self.terminated_at?;
        Some((end.day(), RunTimes::of(self.started_at, end, &self.changes, self.expected_seconds)))
    }

    /// True if usage was recorded past `limit`.
    pub fn recorded_beyond(&self, limit: Timestamp) -> bool {
        self.cursor.is_some_and(|cursor| cursor > limit)
    }

    /// True if usage was recorded past the kernel's end, because the end was reported late.
    pub fn over_recorded(&self) -> bool {
        matches!((self.cursor, self.terminated_at), (Some(c), Some(t)) if t < c)
    }

    /// Moves the cursor as a run at `now` does (FAIR_SHARE §3).
    pub fn advance(&mut self, now: Timestamp) -> KernelAdvance {
        match self.terminated_at {
            Some(end) if end <= now => KernelAdvance::Settled,
            _ if self.cursor.unwrap_or(self.started_at) < now => {
                self.cursor = Some(now);
                KernelAdvance::Moved
            }
            _ => KernelAdvance::Stayed,
        }
    }
}

fn ends_before_start(report: &KernelReport) -> bool {
    matches!((report.started_at, report.terminated_at), (Some(start), Some(end)) if end < start)
}

/// True if the kernel ended without having started, so that there is nothing to record.
fn never_ran(report: &KernelReport) -> bool {
    report.phase == KernelPhase::Terminated && report.started_at.is_none()
}
