//! Computes the intervals of a kernel that one run records (FAIR_SHARE §3), and the effect of downtime on them
//! (FAIR_SHARE §4).

use std::ops::Range;

use super::choices::choices;
use super::time::{MICROS_PER_HOUR, TimeSpan, Timestamp};

choices! {
    /// The option `gap_policy`: the treatment of time in which the service was down.
    #[derive(Default)]
    pub enum GapPolicy {
        #[default]
        Interpolate = "interpolate", "Counted as running through, up to the longest gap.";
        Ignore = "ignore", "Not counted meanwhile.";
    }
}

/// The parameters of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunParameters<'a> {
    pub now: Timestamp,
    pub gap_policy: GapPolicy,
    pub max_gap_hours: u32,
    /// Times in which the service was down for at least one slice interval; ascending and disjoint.
    pub downtimes: &'a [TimeSpan],
}

/// The effect of a run on one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSlices {
    /// The recorded spans, not yet cut at midnight. The first one is separate, because there is hardly ever another
    /// one.
    first: Option<TimeSpan>,
    rest: Vec<TimeSpan>,
    /// The cursor after the run.
    pub cursor: Timestamp,
    /// True if the kernel has ended and is never selected again.
    pub settled: bool,
    /// The time that was lost to a downtime.
    pub dropped: Vec<TimeSpan>,
    pub spanned_downtime: bool,
}

impl KernelSlices {
    pub fn recorded(&self) -> impl Iterator<Item = TimeSpan> + '_ {
        self.first.into_iter().chain(self.rest.iter().copied())
    }
}

/// The indices of `downtimes` (ascending, disjoint) that overlap `whole`, found by binary search.
pub fn overlapping_range(downtimes: &[TimeSpan], whole: TimeSpan) -> Range<usize> {
    let from = downtimes.partition_point(|d| d.end <= whole.start);
    let until = downtimes.partition_point(|d| d.start < whole.end);
    from..until.max(from)
}

/// Plans the slices of a started kernel. `None` if this run has nothing to do for it.
pub fn plan(
    started_at: Timestamp,
    terminated_at: Option<Timestamp>,
    cursor: Option<Timestamp>,
    run: &RunParameters,
) -> Option<KernelSlices> {
    let from = cursor.unwrap_or(started_at);
    let until = terminated_at.map_or(run.now, |t| t.min(run.now));
    let settled = terminated_at.is_some_and(|t| t <= run.now);
    let Some(whole) = TimeSpan::new(from, until) else {
        // There is nothing to record. The cursor of an ended kernel still moves to its end; that of a running kernel
        // never moves back.
        return settled.then(|| KernelSlices {
            first: None,
            rest: Vec::new(),
            cursor: until,
            settled,
            dropped: Vec::new(),
            spanned_downtime: false,
        });
    };
    let mut slices = KernelSlices {
        first: Some(whole),
        rest: Vec::new(),
        cursor: until,
        settled,
        dropped: Vec::new(),
        spanned_downtime: false,
    };
    let holes: Vec<TimeSpan> = match cursor {
        // The first slice of a kernel has no gap, because nothing was recorded before it.
        None => Vec::new(),
        Some(_) => {
            run.downtimes[overlapping_range(run.downtimes, whole)].iter().filter_map(|d| d.overlap(whole)).collect()
        }
    };
    if holes.is_empty() {
        return Some(slices);
    }
    slices.spanned_downtime = true;
    match run.gap_policy {
        GapPolicy::Ignore => {
            let mut kept = whole.without(&holes).into_iter();
            slices.first = kept.next();
            slices.rest = kept.collect();
            slices.dropped = holes;
        }
        GapPolicy::Interpolate => {
            let reach = run.now.plus_micros(-(i64::from(run.max_gap_hours) * MICROS_PER_HOUR));
            slices.first = TimeSpan::new(from.max(reach), until);
            slices.dropped.extend(TimeSpan::new(from, reach.min(until)));
        }
    }
    Some(slices)
}
