//! Support for tests: real databases, a clock that the test controls, and a service over both.

pub mod closed_loop;
#[path = "../../../domain/tests/it/support/cycle_rounds.rs"]
pub mod cycle_rounds;
pub mod database;
pub mod dice;
pub mod fixture;
pub mod packages;
pub mod plain;
pub mod postgres;
pub mod process_end;
pub mod proxy;

use std::io::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use fairshared::domain::time::Timestamp;
use fairshared::service::Clock;

/// A clock that moves only when the test sets it.
pub struct ManualClock {
    wall: AtomicI64,
    /// The time that has passed, in microseconds.
    steady: AtomicU64,
}

impl ManualClock {
    pub fn at(text: &str) -> Self {
        Self { wall: AtomicI64::new(time(text).micros()), steady: AtomicU64::new(0) }
    }

    /// Sets the clock, and lets the time between pass. An earlier time is a clock that was set back: no time passes.
    pub fn set(&self, text: &str) {
        let to = time(text).micros();
        let passed = to - self.wall.swap(to, Ordering::SeqCst);
        self.steady.fetch_add(u64::try_from(passed).unwrap_or(0), Ordering::SeqCst);
    }

    /// Sets the clock without letting time pass.
    pub fn jump(&self, text: &str) {
        self.wall.store(time(text).micros(), Ordering::SeqCst);
    }

    pub fn advance_seconds(&self, seconds: i64) {
        self.wall.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
        self.steady.fetch_add(u64::try_from(seconds * 1_000_000).unwrap_or(0), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.wall.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_micros(self.steady.load(Ordering::SeqCst))
    }
}

/// Prints a line for a person, even if the test succeeds: past the captured output, which is shown only for tests that
/// fail.
pub fn tell(line: &str) {
    std::io::stderr().lock().write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Runs one test body on SQLite and on PostgreSQL: `on_both! { async fn name(db: TestDb) { … } }`.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: TestDb) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn body($db: $crate::support::database::TestDb) $body

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                body($crate::support::database::sqlite().await).await;
            }

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                body($crate::support::database::postgres().await).await;
            }
        }
    )*};
}
pub(crate) use on_both;
