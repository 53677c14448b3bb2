//! Times and shares of the filling as floats: an order for them, and a comparison whose tolerance is far below 10^-12.

use std::cmp::Ordering;

/// A float that is never NaN, so that it can be kept in a heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NonNanFloat(pub f64);

impl Eq for NonNanFloat {}

impl PartialOrd for NonNanFloat {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NonNanFloat {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// True if two floats differ only by rounding.
pub(super) fn close(a: f64, b: f64) -> bool {
    const TOLERANCE: f64 = 1e-13;
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

/// Replaces `next` by the event at `time` if that one is earlier.
pub(super) fn keep_earliest<S>(next: &mut (f64, S), time: f64, source: S) {
    if time < next.0 {
        *next = (time, source);
    }
}
