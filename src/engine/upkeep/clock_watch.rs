//! Watches the wall clock. A steady clock, which cannot be set, measures the time since a reading that was right. If
//! the wall clock differs too much, it is doubted until it agrees again or an admin trusts it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::clock::Clock;
use crate::domain::time::{MICROS_PER_DAY, MICROS_PER_HOUR, Timestamp};

/// The largest accepted difference, in microseconds.
pub const MAX_DIFFERENCE_MICROS: i64 = MICROS_PER_HOUR;
/// The largest lead over the last heartbeat of an earlier process, in microseconds. It is longer, because the service
/// may have been down.
const TOLERANCE_AT_START: i64 = 7 * MICROS_PER_DAY;

/// The difference because of which the clock is doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSkew {
    /// The time that the clock shows.
    pub wall: Timestamp,
    /// The time that it should show. It is a lower bound, if it comes from the last heartbeat of an earlier process.
    pub reference: Timestamp,
    pub since_start: bool,
}

impl ClockSkew {
    /// The difference as a sentence.
    pub fn detail(&self) -> String {
        let Self { wall, reference, since_start } = self;
        let should = if *since_start {
            format!("the last sign of life that is stored, and the time since this process began, make it {reference}")
        } else {
            format!("by the time that has passed it is {reference}")
        };
        format!(
            "the clock says {wall}, but {should}; aggregate, divide, rebuild and purge hold until the clock agrees, or until \
             `fairshared jobs trust-clock` says that it is right"
        )
    }
}

/// The reading that the clock is compared with.
#[derive(Clone, Copy, Debug)]
struct ClockReference {
    wall: Timestamp,
    /// The reading of the steady clock at that time.
    steady: Duration,
    /// The largest accepted lead of the wall clock, in microseconds.
    lead: i64,
    /// True if the reading is from an earlier process.
    since_start: bool,
}

/// The wall clock, and the reading that it is compared with.
pub struct ClockWatch {
    clock: Arc<dyn Clock>,
    /// `None` if there is nothing to compare with yet.
    anchor: Mutex<Option<ClockReference>>,
}

impl ClockWatch {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, anchor: Mutex::default() }
    }

    /// From now on compares the clock with the last heartbeat of earlier processes. If the clock was doubted before
    /// (`held`), a restart alone does not make it trusted: it has to be closer than it was then.
    pub fn begin(&self, last_alive: Option<Timestamp>, held: Option<ClockSkew>) {
        let held_lead = held.map(|held| (held.wall.micros() - held.reference.micros() - 1).max(MAX_DIFFERENCE_MICROS));
        let lead = held_lead.map_or(TOLERANCE_AT_START, |lead| lead.min(TOLERANCE_AT_START));
        let steady = self.clock.steady();
        *self.anchor() = last_alive.map(|wall| ClockReference { wall, steady, lead, since_start: true });
        self.settle();
    }

    /// The reading of the wall clock, whether trusted or not.
    pub fn raw(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn steady(&self) -> Duration {
        self.clock.steady()
    }

    /// The time: that of the wall clock, or that of the steady clock if the wall clock went wrong while this process
    /// watched it.
    pub fn now(&self) -> Timestamp {
        match self.compare() {
            (_, Some(doubt)) if !doubt.since_start => doubt.reference,
            (wall, _) => wall,
        }
    }

    /// The latest time that has certainly come: that of the wall clock only if it is trusted.
    pub fn trusted_time(&self) -> Timestamp {
        let (wall, doubt) = self.compare();
        doubt.map_or(wall, |doubt| doubt.reference)
    }

    /// The reason why the clock is doubted now; `None` if it is trusted.
    pub fn doubt(&self) -> Option<ClockSkew> {
        self.compare().1
    }

    /// Takes the present reading as right, if the clock is not doubted. Returns the doubt.
    pub fn settle(&self) -> Option<ClockSkew> {
        let doubt = self.doubt();
        if doubt.is_none() {
            self.trust();
        }
        doubt
    }

    /// Takes the present reading as right.
    pub fn trust(&self) {
        let (wall, steady) = (self.clock.now(), self.clock.steady());
        *self.anchor() = Some(ClockReference { wall, steady, lead: MAX_DIFFERENCE_MICROS, since_start: false });
    }

    fn compare(&self) -> (Timestamp, Option<ClockSkew>) {
        let (wall, anchor) = (self.clock.now(), *self.anchor());
        let Some(anchor) = anchor else { return (wall, None) };
        let passed = self.clock.steady().saturating_sub(anchor.steady);
        let reference = anchor.wall.plus_micros(i64::try_from(passed.as_micros()).unwrap_or(i64::MAX));
        let lead = wall.micros() - reference.micros();
        let agrees = lead >= -MAX_DIFFERENCE_MICROS && lead <= anchor.lead;
        (wall, (!agrees).then_some(ClockSkew { wall, reference, since_start: anchor.since_start }))
    }

    fn anchor(&self) -> MutexGuard<'_, Option<ClockReference>> {
        self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ClockWatch {
    fn now(&self) -> Timestamp {
        self.now()
    }

    fn steady(&self) -> Duration {
        self.steady()
    }
}
