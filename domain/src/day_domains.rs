//! Which totals of a day buckets tell. A bucket of one day is the total of its user as well, if the project counted for one domain
//! on that day. Else totals have rows of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::ProjectId;
use super::maps::FastMap;
use super::time::Day;

/// Where the totals of a project are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    /// Buckets of one day tell them, for this domain.
    ByBuckets(Arc<str>),
    ByRows,
}

/// What the usage of a project on a day changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// From now on buckets tell its totals.
    Begins,
    Stays,
    /// From now on they have rows: it counts for a second domain.
    Ends,
}

/// What is known of single days.
#[derive(Clone, Debug, Default)]
pub struct DayDomains(BTreeMap<Day, FastMap<ProjectId, Told>>);

impl DayDomains {
    pub fn knows(&self, day: Day) -> bool {
        self.0.contains_key(&day)
    }

    /// From here on the day is known: projects whose totals buckets tell, and projects of which there are rows. One may be in both.
    pub fn learn(
        &mut self,
        day: Day,
        by_buckets: impl IntoIterator<Item = (ProjectId, Arc<str>)>,
        by_rows: impl IntoIterator<Item = ProjectId>,
    ) {
        let mut told: FastMap<ProjectId, Told> = by_rows.into_iter().map(|project| (project, Told::ByRows)).collect();
        told.extend(by_buckets.into_iter().map(|(project, domain)| (project, Told::ByBuckets(domain))));
        self.0.insert(day, told);
    }

    /// The project has usage on a known day, for one domain or, if it is `None`, for several. `in_buckets` says whether some of it
    /// lies in buckets of that day alone.
    pub fn count(&mut self, day: Day, project: ProjectId, domain: Option<&Arc<str>>, in_buckets: bool) -> Turn {
        let told = self.0.entry(day).or_default();
        let (now, turn) = match (told.get(&project), domain) {
            (Some(Told::ByBuckets(known)), Some(domain)) if known == domain => return Turn::Stays,
            (Some(Told::ByRows), _) => return Turn::Stays,
            (Some(Told::ByBuckets(_)), _) => (Told::ByRows, Turn::Ends),
            (None, Some(domain)) if in_buckets => (Told::ByBuckets(Arc::clone(domain)), Turn::Begins),
            (None, _) => (Told::ByRows, Turn::Stays),
        };
        told.insert(project, now);
        turn
    }

    /// Whether a bucket of that day alone is the total of its user in the project.
    pub fn are_told_by_buckets(&self, day: Day, project: ProjectId) -> bool {
        self.0.get(&day).is_some_and(|told| matches!(told.get(&project), Some(Told::ByBuckets(_))))
    }

    pub fn forget_before(&mut self, day: Day) {
        self.0.retain(|known, _| *known >= day);
    }
}
