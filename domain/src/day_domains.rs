//! Knows which projects' totals of a day equal buckets. A bucket of one day is also the total of its user, if the
//! project counted for a single domain on that day. Otherwise the totals are stored in rows of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::ProjectId;
use super::maps::FastMap;
use super::time::Day;

/// The place where the totals of a project are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TotalsSource {
    /// Buckets of that day alone are the totals, for this domain.
    ByBuckets(Arc<str>),
    ByRows,
}

/// The effect of more usage of a project on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// From now on buckets are its totals.
    Begins,
    Stays,
    /// From now on its totals have rows, because it counts for a second domain.
    Ends,
}

/// The known places of totals, by day and project.
#[derive(Clone, Debug, Default)]
pub struct DayDomains(BTreeMap<Day, FastMap<ProjectId, TotalsSource>>);

impl DayDomains {
    pub fn knows(&self, day: Day) -> bool {
        self.0.contains_key(&day)
    }

    /// Makes a day known: the projects whose totals are buckets, and the projects that have rows. A project may be in
    /// both lists.
    pub fn learn(
        &mut self,
        day: Day,
        by_buckets: impl IntoIterator<Item = (ProjectId, Arc<str>)>,
        by_rows: impl IntoIterator<Item = ProjectId>,
    ) {
        let mut told: FastMap<ProjectId, TotalsSource> =
            by_rows.into_iter().map(|project| (project, TotalsSource::ByRows)).collect();
        told.extend(by_buckets.into_iter().map(|(project, domain)| (project, TotalsSource::ByBuckets(domain))));
        self.0.insert(day, told);
    }

    /// Notes usage of the project on a known day, for one domain, or for several if `domain` is `None`. `in_buckets` is
    /// true if some of the usage is in buckets of that day alone.
    pub fn count(&mut self, day: Day, project: ProjectId, domain: Option<&Arc<str>>, in_buckets: bool) -> Turn {
        let told = self.0.entry(day).or_default();
        let (now, turn) = match (told.get(&project), domain) {
            (Some(TotalsSource::ByBuckets(known)), Some(domain)) if known == domain => return Turn::Stays,
            (Some(TotalsSource::ByRows), _) => return Turn::Stays,
            (Some(TotalsSource::ByBuckets(_)), _) => (TotalsSource::ByRows, Turn::Ends),
            (None, Some(domain)) if in_buckets => (TotalsSource::ByBuckets(Arc::clone(domain)), Turn::Begins),
            (None, _) => (TotalsSource::ByRows, Turn::Stays),
        };
        told.insert(project, now);
        turn
    }

    /// True if a bucket of that day alone is the total of its user in the project.
    pub fn are_told_by_buckets(&self, day: Day, project: ProjectId) -> bool {
        self.0.get(&day).is_some_and(|told| matches!(told.get(&project), Some(TotalsSource::ByBuckets(_))))
    }

    pub fn forget_before(&mut self, day: Day) {
        self.0.retain(|known, _| *known >= day);
    }
}
