//! The owners that are compared with each other in a snapshot: all its users, the projects of a domain, or its domains.

use std::sync::{Arc, Mutex, PoisonError};

use super::normalized_days::NormalizedDaysCache;
use super::rows::{DomainShare, ProjectShare, RankedRows, UserShare};
use crate::domain::explain::comparison::{Candidate, Comparison, OuterCandidates};
use crate::domain::explain::future::FutureKeys;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::maps::FastMap;
use crate::domain::options::{FairShareOptions, FairshareOrder};
use crate::domain::ranking::RankedRow;
use crate::domain::time::Day;

/// A comparison with the rows of its candidates. A candidate's number is the index of its row.
#[derive(Debug)]
pub struct ComparisonSet<R> {
    pub rows: Vec<Arc<R>>,
    pub contest: Comparison,
    /// The numbers of the projects and the domains that users are compared by.
    pub projects: FastMap<ProjectId, usize>,
    pub domains: FastMap<Arc<str>, usize>,
    /// The future of the first day that was last asked for.
    future: Mutex<Option<Arc<FutureKeys>>>,
}

fn candidate_of_share(
    normalized_days: &NormalizedDaysCache,
    share: &Share,
    owner: impl FnOnce() -> Owner,
) -> Candidate {
    let normalized_days = normalized_days.of(share, owner).cloned().unwrap_or_default();
    Candidate { normalized_days, weight: share.effective_weight, exponent: share.exponent }
}

fn key<R: RankedRow>(row: &R) -> (u64, &R::Id) {
    (row.exponent().sort_key(), row.id())
}

fn candidate_number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<R: RankedRow> ComparisonSet<R> {
    fn of(rows: Vec<Arc<R>>, entrant: impl Fn(&R) -> Candidate) -> Self {
        let contest = Comparison { entrants: rows.iter().map(|row| entrant(row)).collect(), outer: None };
        let (projects, domains) = Default::default();
        Self { rows, contest, projects, domains, future: Mutex::default() }
    }

    /// The number of a row. Rows ascend by exponent, and those with equal exponents by id.
    pub fn number(&self, row: &R) -> Option<usize> {
        self.rows.binary_search_by(|other| key(&**other).cmp(&key(row))).ok()
    }

    /// The comparison on the days from `first` on; calculated when first asked for.
    pub fn future(&self, options: &FairShareOptions, first: Day) -> Arc<FutureKeys> {
        let mut known = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref().filter(|future| future.sheet.first == first) {
            Some(future) => Arc::clone(future),
            None => Arc::clone(known.insert(Arc::new(FutureKeys::of(&self.contest, options, first)))),
        }
    }
}

impl ComparisonSet<UserShare> {
    pub fn users(rows: &RankedRows, order: FairshareOrder, normalized_days: &NormalizedDaysCache) -> Self {
        let users: Vec<Arc<UserShare>> = rows.users.iter().cloned().collect();
        let mut field =
            Self::of(users, |row| candidate_of_share(normalized_days, &row.share, || Owner::User(row.member)));
        if order == FairshareOrder::Tiered {
            field.compare_by_tiers(rows, normalized_days);
        }
        field
    }

    fn compare_by_tiers(&mut self, rows: &RankedRows, normalized_days: &NormalizedDaysCache) {
        let mut outer = OuterCandidates::default();
        for row in rows.domains.iter() {
            self.domains.insert(Arc::clone(&row.domain_name), outer.domains.len());
            outer
                .domains
                .push(candidate_of_share(normalized_days, &row.share, || Owner::Domain(Arc::clone(&row.domain_name))));
        }
        for row in rows.projects() {
            // Every domain that has a project has a row.
            let Some(domain) = self.domains.get(&row.domain_name) else { continue };
            self.projects.insert(row.project_id, outer.projects.len());
            outer.domain_of.push(candidate_number(*domain));
            outer.projects.push(candidate_of_share(normalized_days, &row.share, || Owner::Project(row.project_id)));
        }
        let within = |row: &Arc<UserShare>| {
            candidate_number(self.projects.get(&row.member.project).copied().unwrap_or_default())
        };
        outer.within = self.rows.iter().map(within).collect();
        self.contest.outer = Some(outer);
    }
}

impl ComparisonSet<ProjectShare> {
    /// The projects of one domain.
    pub fn projects(rows: &RankedRows, domain: &str, normalized_days: &NormalizedDaysCache) -> Self {
        let projects = rows.projects_in(domain).cloned().collect();
        Self::of(projects, |row: &ProjectShare| {
            candidate_of_share(normalized_days, &row.share, || Owner::Project(row.project_id))
        })
    }
}

impl ComparisonSet<DomainShare> {
    pub fn domains(rows: &RankedRows, normalized_days: &NormalizedDaysCache) -> Self {
        let domains = rows.domains.iter().cloned().collect();
        let owner = |row: &DomainShare| Owner::Domain(Arc::clone(&row.domain_name));
        Self::of(domains, |row| candidate_of_share(normalized_days, &row.share, || owner(row)))
    }
}
