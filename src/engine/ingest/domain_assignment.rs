//! Determines the domain that each report counts for. An admin may have put its project into another domain than the
//! report names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::foreign_owners::ForeignOwners;
use super::incoming::{NamedOwner, OwnerNames, RefusedReport};
use crate::domain::ids::{KernelId, ProjectId};
use crate::domain::kernel::{ChangedKernels, Kernel, KernelReport};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::engine::error::Fault;
use crate::engine::people::PeopleDirectory;
use crate::store::people::Project;

/// A warning about a batch that was taken nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchWarning {
    pub code: &'static str,
    pub detail: String,
    pub project: ProjectId,
    /// The number of reports that it is about.
    pub kernels: u64,
}

/// A report that was taken in another domain than it names.
#[derive(Clone, Debug)]
pub struct DomainOverride {
    /// The index in the batch.
    pub at: usize,
    pub project: ProjectId,
    pub reported_domain: String,
    /// True if an admin has put the project into its domain. Otherwise the key of the report does not reach every group
    /// of the project.
    pub is_pinned: bool,
}

/// Reports with their indices in the batch.
pub type IndexedReports = Vec<(usize, Box<KernelReport>)>;

/// Determines the domain of each report. A project that an admin put into a domain stays there. A report that names its
/// project by name is refused, and removed, if it names another domain. A report without a domain counts for that of
/// its project. A project without a domain takes the first one that a report of the batch names. A project that is
/// `foreign` to the report's key does not move.
pub fn settle_domains(
    people: &PeopleDirectory,
    foreign: &ForeignOwners,
    names: &mut [NamedOwner],
    reports: &mut IndexedReports,
) -> (Vec<RefusedReport>, Vec<DomainOverride>) {
    let (mut refused, mut elsewhere) = (Vec::new(), withhold_foreign(people, foreign, names, reports));
    let coming = new_domains(people, reports);
    reports.retain_mut(|(at, report)| {
        let (at, named) = (*at, &names[*at]);
        let id = report.owner.project;
        let known = people.project(id);
        let current: Option<&str> = match (coming.get(&id), known) {
            (Some(domain), _) => Some(domain),
            (None, known) => known.map(|project| &*project.domain_name),
        };
        let Some(current) = current.filter(|current| **current != report.domain) else { return true };
        if known.is_some_and(|project| project.domain_pinned) {
            let reported_domain = std::mem::replace(&mut report.domain, current.to_owned());
            elsewhere.extend(named.has_domain.then_some(DomainOverride {
                at,
                project: id,
                reported_domain,
                is_pinned: true,
            }));
        } else if !named.has_domain {
            current.clone_into(&mut report.domain);
        } else if named.stays {
            let name = named.project.name.as_deref().unwrap_or_default();
            let detail = format!(
                "the project {name:?} is in the domain {current:?}, and a report that names it cannot move it to {:?}",
                report.domain
            );
            refused.push(RefusedReport { at, fault: Fault::new("/domain_name", "project_in_other_domain", detail) });
            return false;
        }
        true
    });
    for (at, report) in reports.iter() {
        let named = &mut names[*at];
        named.foreign.domain = named.foreign.project || foreign.has_domain(named.part, &report.domain);
    }
    (refused, elsewhere)
}

/// Removes from reports what their keys must not change: domains of projects, and names of projects and users, that
/// groups beyond the reach of the keys have. Returns the reports that name another domain than that of their project.
fn withhold_foreign(
    people: &PeopleDirectory,
    foreign: &ForeignOwners,
    names: &mut [NamedOwner],
    reports: &mut IndexedReports,
) -> Vec<DomainOverride> {
    let mut elsewhere = Vec::new();
    for (at, report) in reports.iter_mut() {
        let (named, project) = (&mut names[*at], report.owner.project);
        named.foreign.user = foreign.has_user(named.part, report.owner.user);
        if named.foreign.user {
            named.user = OwnerNames::default();
        }
        named.foreign.project = foreign.has_project(named.part, project);
        if !named.foreign.project {
            continue;
        }
        named.project = OwnerNames::default();
        let reported_domain = std::mem::replace(&mut report.domain, UNKNOWN_DOMAIN.to_owned());
        let is_elsewhere = people.project(project).is_some_and(|known| *known.domain_name != *reported_domain);
        if std::mem::replace(&mut named.has_domain, false) && is_elsewhere {
            elsewhere.push(DomainOverride { at: *at, project, reported_domain, is_pinned: false });
        }
    }
    elsewhere
}

/// The domains that reports name for projects without one: the first named domain, otherwise the placeholder.
fn new_domains(people: &PeopleDirectory, reports: &IndexedReports) -> BTreeMap<ProjectId, String> {
    let mut coming: BTreeMap<ProjectId, String> = BTreeMap::new();
    for (_, report) in reports {
        let id = report.owner.project;
        let has_domain = |project: &Arc<Project>| project.domain_pinned || *project.domain_name != *UNKNOWN_DOMAIN;
        if people.project(id).is_some_and(has_domain) {
            continue;
        }
        match coming.get_mut(&id) {
            Some(domain) if domain == UNKNOWN_DOMAIN => domain.clone_from(&report.domain),
            Some(_) => {}
            None => {
                coming.insert(id, report.domain.clone());
            }
        }
    }
    coming
}

/// One warning for each project and domain that reports have named.
pub fn warnings<'a>(people: &PeopleDirectory, kept: impl Iterator<Item = &'a DomainOverride>) -> Vec<BatchWarning> {
    let mut counts: BTreeMap<(ProjectId, &str, bool), u64> = BTreeMap::new();
    for DomainOverride { project, reported_domain, is_pinned, .. } in kept {
        *counts.entry((*project, reported_domain, *is_pinned)).or_default() += 1;
    }
    let warning = |((id, reported_domain, is_pinned), kernels): ((ProjectId, &str, bool), u64)| {
        let project = people.project(id).map(|project| Arc::clone(&project.domain_name)).unwrap_or_default();
        let detail = if is_pinned {
            format!(
                "an admin has put the project into the domain {project:?}: reports for {reported_domain:?} count there"
            )
        } else {
            format!(
                "the project is in the domain {project:?}, and groups that the key does not reach have it too: reports for \
                 {reported_domain:?} count there"
            )
        };
        BatchWarning { code: "domain_pinned", detail, project: id, kernels }
    };
    counts.into_iter().map(warning).collect()
}

/// True if the usage of `known` is recorded for another domain than the report names.
fn is_late(known: &Kernel, report: &KernelReport) -> bool {
    let was_recorded = known.report.terminated_at.is_some() && known.cursor.is_some();
    was_recorded && known.report.domain != UNKNOWN_DOMAIN && known.report.domain != report.domain
}

/// True if a report changes nothing about a recorded kernel but its domain, and its project is in another one than it
/// names. The domain stays as recorded then.
pub fn is_recorded_elsewhere(people: &PeopleDirectory, known: &Kernel, report: &KernelReport) -> bool {
    let ends_as_known = report.terminated_at == known.report.terminated_at;
    let is_of_project = || people.project(report.owner.project).is_some_and(|row| *row.domain_name == *report.domain);
    is_late(known, report) && ends_as_known && !is_of_project()
}

/// Warnings about kernels that had ended and been recorded for one domain before they were reported for another one;
/// each with its part of the batch. `recorded_elsewhere` are the indices of reports whose kernels stay in their domains.
pub fn late_domains(
    names: &[NamedOwner],
    merged: &ChangedKernels,
    recorded_elsewhere: &[usize],
) -> Vec<(usize, BatchWarning)> {
    let known = merged.iter().filter_map(|(old, new)| Some((old.as_ref()?, new)));
    let late: Vec<(&Kernel, &Kernel)> = known.filter(|(old, new)| is_late(old, &new.report)).collect();
    if late.is_empty() && recorded_elsewhere.is_empty() {
        return Vec::new();
    }
    let parts: HashMap<KernelId, usize> = names.iter().map(|named| (named.kernel, named.part)).collect();
    let mut counts: BTreeMap<(usize, ProjectId), u64> = BTreeMap::new();
    for (_, new) in late {
        let part = parts.get(&new.report.id).copied().unwrap_or_default();
        *counts.entry((part, new.report.owner.project)).or_default() += 1;
    }
    for named in recorded_elsewhere.iter().map(|at| &names[*at]) {
        *counts.entry((named.part, named.owner.project)).or_default() += 1;
    }
    let warning = |((part, project), kernels)| {
        let detail =
            "the kernels had ended, and what they used stays in the domain for which it was recorded".to_owned();
        (part, BatchWarning { code: "domain_recorded", detail, project, kernels })
    };
    counts.into_iter().map(warning).collect()
}
