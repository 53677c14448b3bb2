//! Time as a dependency: only [`SystemClock`] reads the machine's clocks.

use std::time::Duration;

use crate::domain::time::Timestamp;

pub trait Clock: Send + Sync {
    /// The time of the day, as the machine tells it. It may be set while the service runs.
    fn now(&self) -> Timestamp;

    /// Time that passes, from any beginning. It cannot be set.
    fn steady(&self) -> Duration;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now().into()
    }

    /// Linux counts the time while the machine sleeps, too.
    #[cfg(target_os = "linux")]
    fn steady(&self) -> Duration {
        rustix::time::clock_gettime(rustix::time::ClockId::Boottime).try_into().unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    fn steady(&self) -> Duration {
        static BEGINNING: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        BEGINNING.elapsed()
    }
}
