//! Kernels as schedulers report them, merged so that reports may come in any order, any number of times.

use std::ops::Deref;
use std::sync::Arc;

use super::changes::{Changes, MOST_CHANGES};
use super::defaults::yes;
use super::ids::{KernelId, KernelKey, Member, SessionId};
use super::interned::Interned;
use super::run_times::RunTimes;
use super::slots::Amounts;
use super::time::{Day, Span, Timestamp};

/// Where a kernel is in its life. Later stages win over earlier ones, whatever order reports arrive in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The scheduler does not know: of a kernel that is known, nothing changes.
    Unknown,
    Pending,
    Running,
    /// It has started and not ended, but uses and holds nothing for now.
    Suspended,
    Terminated,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Suspended => "SUSPENDED",
            Self::Terminated => "TERMINATED",
        }
    }

    /// Whether the kernel holds or asks for anything.
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

/// What a scheduler says about a kernel besides its owner and its times: placement and scheduling facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Traits {
    pub agent_id: Option<String>,
    pub queue: Option<String>,
    pub priority: i32,
    pub preemptible: bool,
    pub critical: bool,
    pub gang_id: Option<String>,
    pub gang_min: Option<u32>,
}

/// What is not said means the same here as in the API.
impl Default for Traits {
    fn default() -> Self {
        let preemptible = yes();
        Self { agent_id: None, queue: None, priority: 0, preemptible, critical: false, gang_id: None, gang_min: None }
    }
}

/// One valid report of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub id: KernelId,
    pub session: SessionId,
    pub owner: Member,
    pub domain: String,
    pub slots: Amounts,
    pub phase: Phase,
    pub started_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    /// When it was suspended and went on.
    pub changes: Changes,
    /// How long it will run from its start, as far as a report said so.
    pub expected_seconds: Option<u32>,
    pub traits: Traits,
}

impl Report {
    /// The phase that follows from what is told.
    fn settle_phase(&mut self) {
        self.phase = match self.phase {
            Phase::Unknown if self.started_at.is_none() => Phase::Pending,
            Phase::Unknown | Phase::Running | Phase::Suspended => {
                if self.changes.ends_suspended() {
                    Phase::Suspended
                } else {
                    Phase::Running
                }
            }
            told => told,
        };
    }
}

/// A kernel with its accounting cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// `None`: the database does not have it yet.
    pub key: Option<KernelKey>,
    /// It is large, and is handed on while a request is taken.
    pub report: Box<Report>,
    /// `last_usage_recorded_at`: usage before it is recorded.
    pub cursor: Option<Timestamp>,
    /// Its last slice is recorded: no run selects it again.
    pub settled: bool,
    /// The end was assumed, because no report came; a later report that the kernel runs takes it back.
    pub end_inferred: bool,
    /// The changes that its records were made by, where they have to be made again by others.
    pub applied: Option<Changes>,
    /// When it was last reported, as stored: to a few minutes, and before the group's last snapshot.
    pub seen_at: Option<Timestamp>,
}

/// Kernels, each with what it was before.
pub type Changed = [(Option<Kernel>, Kernel)];

/// The rule for the time between an inferred end and the report that the kernel ran on.
#[derive(Clone, Copy, Debug)]
pub struct InferredEndRule {
    pub now: Timestamp,
    /// Time before this is not counted.
    pub kept_from: Timestamp,
}

/// Why a report contradicts what is known about its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
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
    #[error("the kernel was suspended and went on more than {} times", MOST_CHANGES / 2)]
    TooManyChanges,
}

impl Conflict {
    /// The key of the report that conflicts.
    pub fn key(self) -> &'static str {
        match self {
            Self::Owner => "user_uuid",
            Self::Start => "started_at",
            Self::End | Self::PurgedEnd => "terminated_at",
            Self::PurgedSlots => "occupied_slots",
            Self::Change | Self::TooManyChanges => "status_at",
        }
    }

    /// The code of the fault that says so.
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
    /// How long it ran, and the day on which it ended; `None` before its usage is recorded to the end.
    pub fn run_times(&self) -> Option<(Day, RunTimes)> {
        let Report { started_at, terminated_at, changes, expected_seconds, .. } = &*self.report;
        let (start, end) = (*started_at.as_ref()?, terminated_at.filter(|_| self.settled)?);
        Some((end.day(), RunTimes::of(start, end, changes, *expected_seconds)))
    }

    /// What is known after `report`, given what was known before.
    pub fn merge(known: Option<Self>, report: impl Into<Box<Report>>) -> Result<Self, Conflict> {
        let mut report = report.into();
        let Some(known) = known else {
            if ends_before_start(&report) {
                return Err(Conflict::End);
            }
            report.settle_phase();
            let settled = never_ran(&report);
            let (key, cursor, applied, seen_at) = Default::default();
            return Ok(Self { key, report, cursor, settled, end_inferred: false, applied, seen_at });
        };
        let Self { key, report: old, cursor, settled, end_inferred, applied, seen_at } = known;
        if old.owner != report.owner {
            return Err(Conflict::Owner);
        }
        let moved = report.started_at.is_some() && report.started_at != old.started_at;
        let used_nothing = settled && cursor == old.started_at;
        if moved && cursor.is_some() && !used_nothing {
            return Err(Conflict::Start);
        }
        let cursor = cursor.filter(|_| !moved);
        if old.phase == Phase::Suspended && report.phase == Phase::Running && report.changes.is_empty() {
            return Err(Conflict::Change);
        }
        let before = old.changes.clone();
        let (mut merged, other) = if report.phase.stage() < old.phase.stage() { (old, report) } else { (report, old) };
        merged.started_at = merged.started_at.or(other.started_at);
        merged.terminated_at = merged.terminated_at.or(other.terminated_at);
        merged.changes.merge(&other.changes);
        // The report of a start need not repeat what the one before it said.
        merged.expected_seconds = merged.expected_seconds.or(other.expected_seconds);
        merged.settle_phase();
        if ends_before_start(&merged) {
            return Err(Conflict::End);
        }
        if merged.changes.count() > MOST_CHANGES {
            return Err(Conflict::TooManyChanges);
        }
        let mut kernel = Self { key, report: merged, cursor, settled: false, end_inferred, applied, seen_at };
        kernel.note_applied(&before);
        kernel.settle();
        Ok(kernel)
    }

    /// The kernel before `report`, without an inferred end that the report disproves. Time after that end which
    /// `rule` leaves out counts as a suspension.
    #[must_use]
    pub fn without_disproved_end(mut self, report: &Report, rule: InferredEndRule) -> Self {
        let (true, Some(end)) = (self.end_inferred && report.phase.stage() > 1, self.report.terminated_at) else {
            return self;
        };
        let before = self.report.changes.clone();
        let until = report.terminated_at.map_or(rule.now, |told| told.min(rule.now)).min(rule.kept_from);
        if until > end && report.phase != Phase::Suspended {
            self.report.changes.note(end, true);
            self.report.changes.note(until, false);
        }
        self.report.terminated_at = None;
        self.report.phase = Phase::Running;
        self.report.settle_phase();
        self.end_inferred = false;
        self.note_applied(&before);
        self.settle();
        self
    }

    /// The kernel with an end that is assumed, because no report came.
    #[must_use]
    pub fn ended_at(mut self, end: Timestamp) -> Self {
        let start = self.report.started_at.unwrap_or(end);
        self.report.terminated_at = Some(end.max(start));
        self.report.phase = Phase::Terminated;
        self.end_inferred = true;
        self.settle();
        self
    }

    /// Notes by which changes its records were made, if other records follow from those that are known now.
    fn note_applied(&mut self, before: &Changes) {
        let Some(recorded) = self.recorded() else { return };
        let now = &self.report.changes;
        let differs = now.active_but_not_in(before, recorded).chain(before.active_but_not_in(now, recorded)).next();
        if differs.is_some() && self.applied.is_none() {
            self.applied = Some(before.clone());
        }
    }

    /// From when until when usage is recorded.
    fn recorded(&self) -> Option<Span> {
        Span::new(self.report.started_at?, self.cursor?)
    }

    fn settle(&mut self) {
        let recorded = self.cursor.is_some() && self.report.terminated_at == self.cursor && self.applied.is_none();
        self.settled = never_ran(&self.report) || recorded;
    }

    /// Fails if `report` corrects what this kernel, which has ended, used before `kept_from`: the records of that time
    /// are gone, so nothing could be taken back.
    pub fn check_purged(&self, report: &Report, kept_from: Timestamp) -> Result<(), Conflict> {
        let (Some(start), Some(cursor)) = (self.report.started_at, self.cursor) else { return Ok(()) };
        let ended_there = self.report.phase == Phase::Terminated && start < kept_from && start < cursor;
        if !ended_there || report.phase != Phase::Terminated {
            return Ok(());
        }
        if report.terminated_at.is_some_and(|end| end < cursor && end < kept_from) {
            return Err(Conflict::PurgedEnd);
        }
        if self.settled && report.slots != self.report.slots { Err(Conflict::PurgedSlots) } else { Ok(()) }
    }
}

/// A kernel that has started, as far as accounting needs it. No run changes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    pub key: KernelKey,
    pub id: KernelId,
    pub owner: Member,
    pub domain: Arc<str>,
    pub slots: Arc<Amounts>,
    pub phase: Phase,
    pub started_at: Timestamp,
    pub terminated_at: Option<Timestamp>,
    pub changes: Changes,
    /// The changes that its records were made by, where they have to be made again.
    pub applied: Option<Changes>,
    /// How long it was said to run.
    pub expected_seconds: Option<u32>,
}

/// A started kernel whose last slice is not recorded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsettled {
    pub kernel: Arc<Started>,
    pub cursor: Option<Timestamp>,
    /// The cursor is that of the group's last run.
    pub in_step: bool,
}

impl Deref for Unsettled {
    type Target = Started;

    fn deref(&self) -> &Started {
        &self.kernel
    }
}

/// What kernels of a group have in common.
#[derive(Clone, Debug, Default)]
pub struct Common {
    domains: Interned<str>,
    slots: Interned<Amounts>,
}

impl Common {
    fn domain(&mut self, name: &str) -> Arc<str> {
        self.domains.get(name, || Arc::from(name))
    }

    fn slots(&mut self, slots: &Amounts) -> Arc<Amounts> {
        self.slots.get(slots, || Arc::new(slots.clone()))
    }
}

/// Where a run left a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// It ended, and all of it is recorded.
    Settled,
    /// Its cursor moved to the run's time.
    Moved,
    /// Nothing was recorded.
    Stayed,
}

impl Unsettled {
    /// `None`: no run has anything to do with the kernel.
    pub fn of(kernel: &Kernel, common: &mut Common) -> Option<Self> {
        let report = &kernel.report;
        let started_at = report.started_at.filter(|_| !kernel.settled)?;
        let started = Started {
            key: kernel.key?,
            id: report.id,
            owner: report.owner,
            domain: common.domain(&report.domain),
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

    /// Whether a run that records all of its group leaves it as it is.
    pub fn keeps_step(&self) -> bool {
        self.in_step && self.cursor.is_some()
    }

    /// Its records are made by the changes that are known now.
    pub fn recounted(&mut self) {
        Arc::make_mut(&mut self.kernel).applied = None;
    }

    /// It ends.
    pub fn end(&mut self, end: Timestamp) {
        let kernel = Arc::make_mut(&mut self.kernel);
        kernel.terminated_at = Some(end);
        kernel.phase = Phase::Terminated;
    }

    /// How long it ran, and the day on which it ended; `None` before it has ended.
    pub fn run_times(&self) -> Option<(Day, RunTimes)> {
        let end = self.terminated_at?;
        Some((end.day(), RunTimes::of(self.started_at, end, &self.changes, self.expected_seconds)))
    }

    /// Usage was recorded past `limit`.
    pub fn recorded_beyond(&self, limit: Timestamp) -> bool {
        self.cursor.is_some_and(|cursor| cursor > limit)
    }

    /// Usage was recorded past the kernel's end, because its end was reported late.
    pub fn over_recorded(&self) -> bool {
        matches!((self.cursor, self.terminated_at), (Some(c), Some(t)) if t < c)
    }

    /// Moves the cursor to where a run at `now` leaves it (FAIR_SHARE §3).
    pub fn advance(&mut self, now: Timestamp) -> Advance {
        match self.terminated_at {
            Some(end) if end <= now => Advance::Settled,
            _ if self.cursor.unwrap_or(self.started_at) < now => {
                self.cursor = Some(now);
                Advance::Moved
            }
            _ => Advance::Stayed,
        }
    }
}

fn ends_before_start(report: &Report) -> bool {
    matches!((report.started_at, report.terminated_at), (Some(start), Some(end)) if end < start)
}

/// Ended without ever having started: nothing to record.
fn never_ran(report: &Report) -> bool {
    report.phase == Phase::Terminated && report.started_at.is_none()
}
