//! The check `skew`: the difference between the clocks of this machine and of the server.

use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::doctor::CheckOutcome;
use crate::service::{Clock, SystemClock};

pub const CHECK_NAME: &str = "skew";

/// The largest accepted difference, in seconds. It is longer than a request takes.
const MAX_SKEW_SECONDS: i64 = 10;

/// Compares with the time that the server put into its answer just now.
pub fn examine(server: Timestamp) -> CheckOutcome {
    let skew = (SystemClock.now().micros() - server.micros()) / MICROS_PER_SECOND;
    if skew.abs() <= MAX_SKEW_SECONDS {
        return CheckOutcome::ok("this machine's clock agrees with the server's");
    }
    let (seconds, side) = (skew.abs(), if skew > 0 { "ahead of" } else { "behind" });
    CheckOutcome::warning(
        format!(
            "this machine's clock is {seconds} seconds {side} the server's: reports from here may be refused or misplaced"
        ),
        "let both machines set their clocks by the same source, such as NTP",
    )
}
