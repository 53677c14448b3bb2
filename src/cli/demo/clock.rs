//! The clock of the demo's past: it shows the time that was last set.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::domain::time::Timestamp;
use crate::service::Clock;

pub struct PastClock(AtomicI64);

impl PastClock {
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.micros()))
    }

    /// Sets the time.
    pub fn pass(&self, until: Timestamp) {
        self.0.store(until.micros(), Ordering::SeqCst);
    }
}

impl Clock for PastClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_micros(self.now().micros().unsigned_abs())
    }
}
