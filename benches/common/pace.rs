//! The present speed of the machine. The neighbours of a virtual machine share its memory and its caches, so that the
//! machine may take half as long again from one minute to the next.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rows::Row;
use super::{percentile, repeat};

const KEYS: u64 = 320_000;
const TIMES: usize = 5;
/// A moment is busy if the machine takes longer than this multiple of its time in good moments.
const BUSY: f64 = 1.15;

/// The time that sorting a fixed set of keys takes now.
pub fn now() -> Duration {
    let keys: Vec<u64> = (1..=KEYS).map(scattered).collect();
    repeat(TIMES, || {
        let mut keys = keys.clone();
        keys.sort_unstable();
        keys
    })
}

fn scattered(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The time of each machine in good moments: the one that one row in ten is below, because the very best one is an accident.
pub struct Good<'r>(BTreeMap<&'r str, Duration>);

impl<'r> Good<'r> {
    pub fn of(rows: &'r [Row]) -> Self {
        let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        for (row, sorted) in rows.iter().filter_map(|row| Some((row, row.sorted?))) {
            times.entry(&row.machine).or_default().push(Duration::from_secs_f64(sorted));
        }
        Self(times.into_iter().map(|(machine, times)| (machine, percentile(times, 10))).collect())
    }

    /// True if the row was measured in a busy moment.
    pub fn is_busy(&self, row: &Row) -> bool {
        self.0.get(&*row.machine).zip(row.sorted).is_some_and(|(good, sorted)| sorted > BUSY * good.as_secs_f64())
    }
}
