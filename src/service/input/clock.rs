//! Time as a dependency: only [`SystemClock`] reads the clocks of the machine.

use std::time::Duration;

use crate::domain::time::Timestamp;

pub trait Clock: Send + Sync {
    /// The wall clock of the machine. It may be set while the service runs.
    fn now(&self) -> Timestamp;

    /// A monotonic clock with an arbitrary start. It cannot be set.
    fn steady(&self) -> Duration;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now().into()
    }

    /// Uses `CLOCK_BOOTTIME`, so that on Linux the time in which the machine sleeps counts too.
    #[cfg(target_os = "linux")]
    fn steady(&self) -> Duration {
        rustix::time::clock_gettime(rustix::time::ClockId::Boottime).try_into().unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    fn steady(&self) -> Duration {
        static PROCESS_START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        PROCESS_START.elapsed()
    }
}
