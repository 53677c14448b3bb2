//! In which domains projects have counted on the days that most runs write. Who has counted in one only has a total of the
//! day that is the bucket of the day, so that it need not be read before it is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::ids::ProjectId;
use super::maps::FastMap;
use super::time::Day;

/// Most projects count in one domain.
type Domains = SmallVec<[Arc<str>; 1]>;

#[derive(Clone, Debug, Default)]
pub struct DayDomains(BTreeMap<Day, FastMap<ProjectId, Domains>>);

impl DayDomains {
    pub fn knows(&self, day: Day) -> bool {
        self.0.contains_key(&day)
    }

    /// From here on the day is known; these are all that have counted on it.
    pub fn learn(&mut self, day: Day, counted: impl IntoIterator<Item = (ProjectId, Arc<str>)>) {
        self.0.insert(day, FastMap::default());
        for (project, domain) in counted {
            self.note(day, project, &domain);
        }
    }

    /// The project counts in the domain on a day, which may be known.
    pub fn note(&mut self, day: Day, project: ProjectId, domain: &Arc<str>) {
        if let Some(known) = self.0.get_mut(&day) {
            let domains = known.entry(project).or_default();
            if !domains.contains(domain) {
                domains.push(Arc::clone(domain));
            }
        }
    }

    /// Whether it is certain that the project has counted in no other domain on that day.
    pub fn is_only(&self, day: Day, project: ProjectId, domain: &Arc<str>) -> bool {
        let counted = self.0.get(&day);
        counted.is_some_and(|known| known.get(&project).is_none_or(|domains| domains.iter().all(|one| one == domain)))
    }

    pub fn forget_before(&mut self, day: Day) {
        self.0.retain(|known, _| *known >= day);
    }
}
