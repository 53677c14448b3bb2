//! A clock that is not believed blindly. A second clock, which cannot be set, tells how much time has passed since a reading that
//! was right; one that leads it, or lags behind it, by too much is doubted until it agrees again or an admin trusts it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::time::{MICROS_PER_DAY, MICROS_PER_HOUR, Timestamp};
use crate::service::Clock;

/// How far the clock may be from where it should be, in microseconds.
pub const TOLERANCE: i64 = MICROS_PER_HOUR;
/// How far it may lead the last sign of life of an earlier process: no process may have run for so long.
const TOLERANCE_AT_START: i64 = 7 * MICROS_PER_DAY;

/// The difference because of which the clock is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSkew {
    /// The time that the clock shows.
    pub wall: Timestamp,
    /// The time that it should show; at least that, if it is the last sign of life of an earlier process.
    pub reference: Timestamp,
    pub since_start: bool,
}

impl ClockSkew {
    /// In a sentence.
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

/// The reading with which the clock is compared.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    wall: Timestamp,
    /// The reading of the steady clock at that time.
    steady: Duration,
    /// How far the clock may lead.
    lead: i64,
    /// The reading is that of an earlier process.
    since_start: bool,
}

/// The machine's clock with what it is compared with.
pub struct Watch {
    clock: Arc<dyn Clock>,
    /// `None`: there is nothing to compare it with yet.
    anchor: Mutex<Option<Anchor>>,
}

impl Watch {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, anchor: Mutex::default() }
    }

    /// Compares from now on with the last sign of life of earlier processes. A clock that was `held` is no better
    /// because of a new start: it has to be closer than it was then.
    pub fn begin(&self, last_alive: Option<Timestamp>, held: Option<ClockSkew>) {
        let held_lead = held.map(|held| (held.wall.micros() - held.reference.micros() - 1).max(TOLERANCE));
        let lead = held_lead.map_or(TOLERANCE_AT_START, |lead| lead.min(TOLERANCE_AT_START));
        let steady = self.clock.steady();
        *self.anchor() = last_alive.map(|wall| Anchor { wall, steady, lead, since_start: true });
        self.settle();
    }

    /// What the clock says, right or wrong.
    pub fn raw(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn steady(&self) -> Duration {
        self.clock.steady()
    }

    /// The time: what the clock says, unless it went wrong while this process watched it.
    pub fn now(&self) -> Timestamp {
        match self.compare() {
            (_, Some(doubt)) if !doubt.since_start => doubt.reference,
            (wall, _) => wall,
        }
    }

    /// The latest time that is certain to have come: what the clock says only if it is believed.
    pub fn certain(&self) -> Timestamp {
        let (wall, doubt) = self.compare();
        doubt.map_or(wall, |doubt| doubt.reference)
    }

    /// Why the clock is not believed now.
    pub fn doubt(&self) -> Option<ClockSkew> {
        self.compare().1
    }

    /// Takes the clock's reading as right, if it is not doubted. Returns why it is.
    pub fn settle(&self) -> Option<ClockSkew> {
        let doubt = self.doubt();
        if doubt.is_none() {
            self.trust();
        }
        doubt
    }

    /// Takes the clock's reading as right.
    pub fn trust(&self) {
        let (wall, steady) = (self.clock.now(), self.clock.steady());
        *self.anchor() = Some(Anchor { wall, steady, lead: TOLERANCE, since_start: false });
    }

    fn compare(&self) -> (Timestamp, Option<ClockSkew>) {
        let (wall, anchor) = (self.clock.now(), *self.anchor());
        let Some(anchor) = anchor else { return (wall, None) };
        let passed = self.clock.steady().saturating_sub(anchor.steady);
        let reference = anchor.wall.plus_micros(i64::try_from(passed.as_micros()).unwrap_or(i64::MAX));
        let lead = wall.micros() - reference.micros();
        let agrees = lead >= -TOLERANCE && lead <= anchor.lead;
        (wall, (!agrees).then_some(ClockSkew { wall, reference, since_start: anchor.since_start }))
    }

    fn anchor(&self) -> MutexGuard<'_, Option<Anchor>> {
        self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        self.now()
    }

    fn steady(&self) -> Duration {
        self.steady()
    }
}
