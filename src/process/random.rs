//! New ids and secrets: the one place that asks the machine for randomness.

use std::io;
use std::sync::Arc;

use uuid::Uuid;

/// An id that tells nothing.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn id() -> Uuid {
    Uuid::new_v4()
}

/// A random number that is not negative, by which two states with the same number differ.
pub fn tag() -> i32 {
    let bytes = id().into_bytes();
    i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) & i32::MAX
}

/// An id that begins with the time of the machine, so that later ones sort behind it. The time is only a part of the name.
#[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
pub fn dated_id() -> Uuid {
    Uuid::now_v7()
}

/// [`dated_id`] as text, for what happens once: a request.
pub fn dated_name() -> Arc<str> {
    Arc::from(&*dated_id().as_hyphenated().encode_lower(&mut Uuid::encode_buffer()))
}

/// Fills `bytes` with bytes that cannot be guessed.
#[expect(clippy::disallowed_methods, reason = "the one place that makes secrets")]
pub fn secret(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}
