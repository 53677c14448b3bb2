//! How fast the machine is at the moment. The neighbours of a virtual machine share its memory and its caches, so that it may take
//! half as long again from one minute to the next.

use std::time::Duration;

use super::repeat;
use super::rows::Row;

const KEYS: u64 = 320_000;
const TIMES: usize = 5;
/// A moment is busy if the machine takes so many times as long as in good moments.
const BUSY: f64 = 1.15;

/// How long it takes now to sort keys that are always the same.
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

/// Whether the row is of a busy moment. Of good moments are those of `all` rows of the same machine that one row in ten surpasses:
/// the very best one is an accident.
pub fn is_busy(row: &Row, all: &[Row]) -> bool {
    let mut times: Vec<f64> =
        all.iter().filter(|other| other.machine == row.machine).filter_map(|other| other.sorted).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 10).zip(row.sorted).is_some_and(|(good, sorted)| sorted > BUSY * good)
}
