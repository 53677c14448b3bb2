//! New ids and secrets. Only this module asks the system for randomness.

use std::io;
use std::sync::Arc;

use uuid::Uuid;

/// A random id.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn id() -> Uuid {
    Uuid::new_v4()
}

/// A random number from 0 to `i32::MAX`, which distinguishes two states whose counters are equal.
pub fn tag() -> i32 {
    let bytes = id().into_bytes();
    i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) & i32::MAX
}

/// An id that begins with the machine's time, so that ids sort by their creation. Nothing reads the time from it.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn dated_id() -> Uuid {
    Uuid::now_v7()
}

/// The text of a [`dated_id`], for a request.
pub fn dated_name() -> Arc<str> {
    Arc::from(&*dated_id().as_hyphenated().encode_lower(&mut Uuid::encode_buffer()))
}

/// Fills `bytes` with unpredictable bytes.
#[expect(clippy::disallowed_methods, reason = "the one place that makes secrets")]
pub fn secret(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}
