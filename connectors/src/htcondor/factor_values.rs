//! The factors that give HTCondor the order of the server.
//!
//! The negotiator serves users by their effective priority, the lowest first, and divides the pool among them in the proportion
//! of its inverse. Factors therefore grow with the rank by equal ratios: the first rank has the default factor, and the last one
//! `spread` times that much, in [`RANK_STEPS`] steps, so that a rank that moves by one place among thousands writes nothing.

/// The number of steps of the factors.
const RANK_STEPS: f64 = 200.0;

/// The factor of a rank. A user that is not known yet is ordered as the first.
pub fn rank_factor(rank: Option<u32>, worst: u32, default_factor: i64, spread: u32) -> i64 {
    let part = f64::from(rank.unwrap_or(1).max(1) - 1) / f64::from(worst.max(2) - 1);
    let steps = (part.min(1.0) * RANK_STEPS).round();
    let factor = default_factor as f64 * f64::from(spread).powf(steps / RANK_STEPS);
    #[expect(clippy::cast_possible_truncation, reason = "a factor is far below the largest number")]
    let factor = factor.round() as i64;
    factor
}
