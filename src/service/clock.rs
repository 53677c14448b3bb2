//! Time as a dependency: only [`SystemClock`] reads the machine's clock.

use crate::domain::time::Timestamp;

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now().into()
    }
}
