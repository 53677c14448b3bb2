//! The exponents of all owners on the coming days, if nothing runs from now on. They equal those that runs will
//! calculate on these days bit by bit, because they add up the same numbers in the same order.

use std::borrow::Cow;

use super::candidate_order::CandidateOrder;
use super::comparison::{Candidate, Comparison};
use crate::factor::Exponent;
use crate::normalized_days::{NormalizedBucket, NormalizedDays};
use crate::options::FairShareOptions;
use crate::time::Day;
use crate::weight::EffectiveWeight;

/// The largest number of days that are computed ahead. A shorter window is empty before that.
const MAX_DAYS: u32 = 32;

/// The decay weights of the coming days.
#[derive(Clone, Debug)]
pub struct DecaySchedule {
    pub first: Day,
    days: usize,
    lookback_days: u32,
    /// Decay weights by age in days; 0 for ages beyond the window.
    weights: Vec<f64>,
}

impl DecaySchedule {
    pub fn new(options: &FairShareOptions, first: Day) -> Self {
        let FairShareOptions { lookback_days, half_life_days, decay, .. } = *options;
        let days = lookback_days.min(MAX_DAYS) as usize + 1;
        let mut weights: Vec<f64> = (0..lookback_days).map(|age| decay.weight(age, half_life_days)).collect();
        weights.resize(weights.len() + days, 0.0);
        Self { first, days, lookback_days, weights }
    }

    pub fn days(&self) -> impl ExactSizeIterator<Item = Day> + '_ {
        (0..i32::try_from(self.days).unwrap_or(i32::MAX)).map(|at| self.first.plus(at))
    }

    /// The decay weight of a bucket on the day `at` days after the first.
    pub fn weight(&self, start: Day, at: usize) -> f64 {
        let age = i64::from(self.first.days_since(start)) + i64::try_from(at).unwrap_or(i64::MAX);
        self.weights.get(usize::try_from(age.max(0)).unwrap_or(usize::MAX)).copied().unwrap_or(0.0)
    }

    /// The normalised usage on each day.
    pub fn usage(&self, normalized_days: &[NormalizedBucket]) -> Vec<f64> {
        let mut sums = vec![0.0; self.days];
        self.add_up(normalized_days, &mut sums);
        sums
    }

    fn add_up(&self, normalized_days: &[NormalizedBucket], sums: &mut [f64]) {
        sums.fill(0.0);
        for bucket in normalized_days {
            let (age, normalized) = (self.first.days_since(bucket.first), bucket.normalized);
            match usize::try_from(age).map(|age| self.weights.get(age..age + self.days)) {
                Ok(Some(weights)) => {
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum += weight * normalized;
                    }
                }
                // The bucket has left the window.
                Ok(None) => {}
                // The bucket is in the future, because the clock jumped back.
                Err(_) => {
                    for (at, sum) in sums.iter_mut().enumerate() {
                        *sum += self.weight(bucket.first, at) * normalized;
                    }
                }
            }
        }
        let lookback_days = f64::from(self.lookback_days);
        for sum in sums {
            *sum /= lookback_days;
        }
    }

    fn keys(
        &self,
        normalized_days: &[NormalizedBucket],
        weight: EffectiveWeight,
        sums: &mut [f64],
        mut take: impl FnMut(usize, u64),
    ) {
        self.add_up(normalized_days, sums);
        let weight = weight.to_f64();
        for (at, used) in sums.iter().enumerate() {
            take(at, Exponent::over(*used, weight).sort_key());
        }
    }

    /// The sort keys of all owners, by day.
    fn columns(&self, entrants: &[Candidate]) -> Vec<Vec<u64>> {
        let mut columns = vec![vec![0; entrants.len()]; self.days];
        let mut sums = vec![0.0; self.days];
        for (number, entrant) in entrants.iter().enumerate() {
            // An owner without usage has the key 0 on all days.
            if !entrant.normalized_days.is_empty() {
                self.keys(&entrant.normalized_days, entrant.weight, &mut sums, |at, key| columns[at][number] = key);
            }
        }
        columns
    }

    fn changed(&self, entrants: &[Candidate], changed: &[(usize, NormalizedDays)]) -> ChangedKeys {
        let mut sums = vec![0.0; self.days];
        let row = |(number, normalized_days): &(usize, NormalizedDays)| {
            let mut keys = vec![0; self.days];
            self.keys(normalized_days, entrants[*number].weight, &mut sums, |at, key| keys[at] = key);
            (*number, keys)
        };
        changed.iter().map(row).collect()
    }
}

/// The keys of owners with unrecorded usage, each with the owner's number.
type ChangedKeys = Vec<(usize, Vec<u64>)>;

/// The sort keys of all owners on each day.
#[derive(Clone, Debug)]
pub struct FutureKeys {
    pub sheet: DecaySchedule,
    entrants: Vec<Vec<u64>>,
    projects: Vec<Vec<u64>>,
    domains: Vec<Vec<u64>>,
}

/// The usage histories of owners with unrecorded usage, with that usage included; each with the owner's number.
#[derive(Clone, Debug, Default)]
pub struct UnrecordedHistories {
    pub entrants: Vec<(usize, NormalizedDays)>,
    pub projects: Vec<(usize, NormalizedDays)>,
    pub domains: Vec<(usize, NormalizedDays)>,
}

/// The sort keys of owners with unrecorded usage, which replace those in [`FutureKeys`].
pub struct KeyCorrections {
    entrants: ChangedKeys,
    projects: ChangedKeys,
    domains: ChangedKeys,
}

impl FutureKeys {
    /// The keys from the day `first` on.
    pub fn of(contest: &Comparison, options: &FairShareOptions, first: Day) -> Self {
        let sheet = DecaySchedule::new(options, first);
        let outer = |entrants: &[Candidate]| sheet.columns(entrants);
        let (projects, domains) =
            contest.outer.as_ref().map_or_else(Default::default, |o| (outer(&o.projects), outer(&o.domains)));
        Self { entrants: sheet.columns(&contest.entrants), projects, domains, sheet }
    }

    pub fn correct(&self, contest: &Comparison, unrecorded: &UnrecordedHistories) -> KeyCorrections {
        let outer = |pick: fn(&super::comparison::OuterCandidates) -> &[Candidate], changed| {
            contest.outer.as_ref().map_or_else(Vec::new, |outer| self.sheet.changed(pick(outer), changed))
        };
        KeyCorrections {
            entrants: self.sheet.changed(&contest.entrants, &unrecorded.entrants),
            projects: outer(|outer| &outer.projects, &unrecorded.projects),
            domains: outer(|outer| &outer.domains, &unrecorded.domains),
        }
    }

    /// The order on the day `at` days after the first.
    pub fn candidate_order<'a>(
        &'a self,
        contest: &'a Comparison,
        corrections: &KeyCorrections,
        at: usize,
    ) -> CandidateOrder<'a> {
        let outer = contest.outer.as_ref().map(|outer| {
            let projects = correct_column(&self.projects[at], &corrections.projects, at);
            let domains = correct_column(&self.domains[at], &corrections.domains, at);
            outer.keys(&projects, &domains)
        });
        CandidateOrder::new(correct_column(&self.entrants[at], &corrections.entrants, at), outer)
    }
}

fn correct_column<'a>(column: &'a [u64], changed: &ChangedKeys, at: usize) -> Cow<'a, [u64]> {
    let mut column = Cow::Borrowed(column);
    for (number, keys) in changed {
        column.to_mut()[*number] = keys[at];
    }
    column
}
