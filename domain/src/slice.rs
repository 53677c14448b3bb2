//! Which intervals of a kernel one run records (FAIR_SHARE §3), and what downtime does to them (FAIR_SHARE §4).

use std::ops::Range;

use super::time::{MICROS_PER_HOUR, Span, Timestamp};

/// `gap_policy`: what happens to time in which the service was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GapPolicy {
    /// Record it as if the service had been up, at most `max_gap_hours` back.
    #[default]
    Interpolate,
    /// Leave it out.
    Ignore,
}

impl GapPolicy {
    pub const NAMES: [&'static str; 2] = ["interpolate", "ignore"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interpolate => Self::NAMES[0],
            Self::Ignore => Self::NAMES[1],
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Interpolate, Self::Ignore].into_iter().find(|p| p.as_str() == text)
    }
}

/// What one run knows when it slices.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub now: Timestamp,
    pub gap_policy: GapPolicy,
    pub max_gap_hours: u32,
    /// Times in which the service was down for at least one slice interval; ascending, disjoint.
    pub downtimes: &'a [Span],
}

/// What a run does with one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    /// What is recorded, not yet cut at midnight. The first is apart because there is hardly ever another.
    first: Option<Span>,
    rest: Vec<Span>,
    /// Where the cursor stands afterwards.
    pub cursor: Timestamp,
    /// The kernel has ended and is never selected again.
    pub settled: bool,
    /// The parts that a downtime cost; empty unless one was spanned.
    pub dropped: Vec<Span>,
    pub spanned_downtime: bool,
}

impl Slices {
    pub fn recorded(&self) -> impl Iterator<Item = Span> + '_ {
        self.first.into_iter().chain(self.rest.iter().copied())
    }
}

/// Which of `downtimes` (ascending, disjoint) reach into `whole`; those before it are not looked at one by one.
pub fn overlapping(downtimes: &[Span], whole: Span) -> Range<usize> {
    let from = downtimes.partition_point(|d| d.end <= whole.start);
    let until = downtimes.partition_point(|d| d.start < whole.end);
    from..until.max(from)
}

/// Plans the slices of a kernel that started. `None`: this run has nothing to do with it.
pub fn plan(
    started_at: Timestamp,
    terminated_at: Option<Timestamp>,
    cursor: Option<Timestamp>,
    run: &Run,
) -> Option<Slices> {
    let from = cursor.unwrap_or(started_at);
    let until = terminated_at.map_or(run.now, |t| t.min(run.now));
    let settled = terminated_at.is_some_and(|t| t <= run.now);
    let Some(whole) = Span::new(from, until) else {
        // Nothing to record; an ended kernel still moves to its end, a running one never moves back.
        return settled.then(|| Slices {
            first: None,
            rest: Vec::new(),
            cursor: until,
            settled,
            dropped: Vec::new(),
            spanned_downtime: false,
        });
    };
    let mut slices = Slices {
        first: Some(whole),
        rest: Vec::new(),
        cursor: until,
        settled,
        dropped: Vec::new(),
        spanned_downtime: false,
    };
    let holes: Vec<Span> = match cursor {
        // A first slice is never a gap.
        None => Vec::new(),
        Some(_) => run.downtimes[overlapping(run.downtimes, whole)].iter().filter_map(|d| d.overlap(whole)).collect(),
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
            slices.first = Span::new(from.max(reach), until);
            slices.dropped.extend(Span::new(from, reach.min(until)));
        }
    }
    Some(slices)
}
