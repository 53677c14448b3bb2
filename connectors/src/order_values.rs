//! The values that give a scheduler the order of the server.
//!
//! **order**: the priorities along the sequence fall strictly, and the last one is above that of every job outside. A priority
//! is the value that the connector writes and the job's own terms, which may grow with its age. So that few values are written, jobs
//! whose priorities fall already keep their values, and the others get values in the gaps between them. If a gap is too small, all
//! values are made again, with equal gaps.
//!
//! **factor**: the value of a job follows the rank of its owner, in [`RANK_STEPS`] steps, so that a rank that moves by one place
//! among thousands writes nothing.

/// The largest gap between two neighbours. A larger one would only use up room.
const MAX_GAP: i64 = 1_000;
/// The number of steps of the values in the mode `factor`.
const RANK_STEPS: f64 = 200.0;

/// A job of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedJob {
    /// Its priority without the value.
    pub own: i64,
    pub value: i64,
}

/// The values of the jobs of `sequence`, the first to start first. `floor` is the highest priority that a job outside of the
/// sequence may have. No value is beyond `max`; `None` if there is no room for all of them.
pub fn order_values(sequence: &[OrderedJob], floor: i64, max: i64) -> Option<Vec<i64>> {
    let floor = sequence.iter().map(|job| job.own).fold(floor, i64::max);
    let ceiling = sequence.iter().map(|job| job.own).min().unwrap_or_default().saturating_add(max);
    let totals = fill_gaps(sequence, floor, ceiling, max).or_else(|| spread_all(sequence.len(), floor, ceiling))?;
    Some(sequence.iter().zip(totals).map(|(job, total)| total - job.own).collect())
}

/// Priorities with equal gaps; `None` if there is no room.
fn spread_all(count: usize, floor: i64, ceiling: i64) -> Option<Vec<i64>> {
    let places = i64::try_from(count).ok()?;
    let gap = (ceiling.checked_sub(floor)? / (places + 1)).min(MAX_GAP);
    (gap >= 1).then(|| (0..places).map(|place| floor + gap * (places - place)).collect())
}

/// Priorities that keep as many values as possible; `None` if a gap is too small for those that come into it.
fn fill_gaps(sequence: &[OrderedJob], floor: i64, ceiling: i64, max: i64) -> Option<Vec<i64>> {
    let kept = falling_jobs(sequence, floor, max);
    let mut totals = Vec::with_capacity(sequence.len());
    let mut next_kept = kept.iter().copied().peekable();
    while totals.len() < sequence.len() {
        let at = totals.len();
        let until = next_kept.peek().copied().unwrap_or(sequence.len());
        let low = sequence.get(until).map_or(floor, |job| job.own + job.value);
        let missing = i64::try_from(until - at).ok()?;
        let high = match totals.last() {
            Some(above) => *above,
            // Above the first one that stays there is room up to the ceiling.
            None => low.saturating_add(MAX_GAP * (missing + 1)).min(ceiling + 1),
        };
        let gap = high.checked_sub(low)? / (missing + 1);
        if missing > 0 && gap < 1 {
            return None;
        }
        totals.extend((0..missing).map(|place| low + gap * (missing - place)));
        if next_kept.next().is_some() {
            totals.push(low);
        }
    }
    let is_within = |(job, total): (&OrderedJob, &i64)| (total - job.own).abs() <= max;
    sequence.iter().zip(&totals).all(is_within).then_some(totals)
}

/// The places of a longest part of the sequence whose priorities fall strictly and stay above `floor`.
fn falling_jobs(sequence: &[OrderedJob], floor: i64, max: i64) -> Vec<usize> {
    // For each length the place with the highest last priority, and for each place the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), vec![None; sequence.len()]);
    let total = |at: usize| sequence[at].own + sequence[at].value;
    for (at, job) in sequence.iter().enumerate() {
        if total(at) <= floor || job.value.abs() > max {
            continue;
        }
        let length = ends.partition_point(|end| total(*end) > total(at));
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut places: Vec<usize> = std::iter::successors(ends.last().copied(), |at| before[*at]).collect();
    places.reverse();
    places
}

/// The value for a rank: all of `weight` for the first, 0 for a step above the last. An owner that is not known yet is
/// ordered as the first.
pub fn rank_value(rank: Option<u32>, worst: u32, weight: i64, max: i64) -> i64 {
    let part = 1.0 - f64::from(rank.unwrap_or(1).max(1) - 1) / f64::from(worst.max(1));
    let steps = (part * RANK_STEPS).round();
    #[expect(clippy::cast_possible_truncation, reason = "the product is at most the weight")]
    let value = (steps / RANK_STEPS * weight as f64).round() as i64;
    value.clamp(-max, max)
}
