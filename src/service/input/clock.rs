//! Time as a dependency: only [`SystemClock`] reads the clocks of the machine.

use std::time::Duration;

use crate::domain::clock::Clock;
use crate::domain::time::Timestamp;

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
