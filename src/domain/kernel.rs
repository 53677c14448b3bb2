//! Kernels as schedulers report them, merged so that reports may come in any order, any number of times.

use std::sync::Arc;

use super::defaults::yes;
use super::ids::{KernelId, Member, SessionId};
use super::slots::Amounts;
use super::time::Timestamp;

/// Where a kernel is in its life. Later phases win over earlier ones, whatever order reports arrive in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Pending,
    Running,
    Terminated,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Terminated => "TERMINATED",
        }
    }

    /// Reads a scheduler's status, in either case; the finer states of Backend.AI fold into three.
    pub fn parse(status: &str) -> Option<Self> {
        Some(match status.to_ascii_uppercase().as_str() {
            "PENDING" | "SCHEDULED" | "PREPARING" | "PULLING" | "PREPARED" | "CREATING" => Self::Pending,
            "RUNNING" | "RESTARTING" | "SUSPENDED" | "TERMINATING" => Self::Running,
            "TERMINATED" | "CANCELLED" | "COMPLETED" | "FAILED" | "ERROR" => Self::Terminated,
            _ => return None,
        })
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
    pub traits: Traits,
}

/// A kernel with its accounting cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub report: Report,
    /// `last_usage_recorded_at`: usage before it is recorded.
    pub cursor: Option<Timestamp>,
    /// Its last slice is recorded: no run selects it again.
    pub settled: bool,
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
}

impl Conflict {
    /// The key of the report that conflicts.
    pub fn key(self) -> &'static str {
        match self {
            Self::Owner => "user_uuid",
            Self::Start => "started_at",
            Self::End | Self::PurgedEnd => "terminated_at",
            Self::PurgedSlots => "occupied_slots",
        }
    }

    /// The code of the fault that says so.
    pub fn code(self) -> &'static str {
        match self {
            Self::Owner | Self::Start | Self::End => "conflict",
            Self::PurgedEnd | Self::PurgedSlots => "purged",
        }
    }
}

impl Kernel {
    /// What is known after `report`, given what was known before.
    pub fn merge(known: Option<Self>, report: Report) -> Result<Self, Conflict> {
        let Some(known) = known else {
            if ends_before_start(&report) {
                return Err(Conflict::End);
            }
            return Ok(Self { settled: never_ran(&report), report, cursor: None });
        };
        let (old, cursor) = (known.report, known.cursor);
        if old.owner != report.owner {
            return Err(Conflict::Owner);
        }
        let moved = report.started_at.is_some() && report.started_at != old.started_at;
        let used_nothing = known.settled && cursor == old.started_at;
        if moved && cursor.is_some() && !used_nothing {
            return Err(Conflict::Start);
        }
        let cursor = cursor.filter(|_| !moved);
        let (mut merged, other) = if report.phase < old.phase { (old, report) } else { (report, old) };
        merged.started_at = merged.started_at.or(other.started_at);
        merged.terminated_at = merged.terminated_at.or(other.terminated_at);
        if ends_before_start(&merged) {
            return Err(Conflict::End);
        }
        let settled = never_ran(&merged) || (cursor.is_some() && merged.terminated_at == cursor);
        Ok(Self { report: merged, cursor, settled })
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

/// A started kernel whose last slice is not recorded yet, as far as accounting needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsettled {
    pub id: KernelId,
    pub session: SessionId,
    pub owner: Member,
    pub domain: Arc<str>,
    pub slots: Amounts,
    pub phase: Phase,
    pub started_at: Timestamp,
    pub terminated_at: Option<Timestamp>,
    pub cursor: Option<Timestamp>,
    /// The cursor is that of the group's last run.
    pub in_step: bool,
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
    pub fn of(kernel: &Kernel) -> Option<Self> {
        let report = &kernel.report;
        let started_at = report.started_at.filter(|_| !kernel.settled)?;
        Some(Self {
            id: report.id,
            session: report.session,
            owner: report.owner,
            domain: Arc::from(report.domain.as_str()),
            slots: report.slots.clone(),
            phase: report.phase,
            started_at,
            terminated_at: report.terminated_at,
            cursor: kernel.cursor,
            in_step: false,
        })
    }

    /// Usage was recorded past `limit`.
    pub fn recorded_beyond(&self, limit: Timestamp) -> bool {
        self.cursor.is_some_and(|cursor| cursor > limit)
    }

    /// Usage was recorded past the kernel's end, because its end was reported late.
    pub fn over_recorded(&self) -> bool {
        matches!((self.cursor, self.terminated_at), (Some(c), Some(t)) if t < c)
    }

    /// Moves the cursor to where a run at `now` leaves it (§3).
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
