//! Which domain each report counts in: an admin may have put its project into another than the report says.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::incoming::{Named, Refused};
use crate::domain::ids::ProjectId;
use crate::domain::kernel::Report;
use crate::service::Fault;
use crate::service::people::Directory;

/// Something about a batch that was taken all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub code: &'static str,
    pub detail: String,
    pub project: ProjectId,
    /// How many reports it is about.
    pub kernels: u64,
}

/// A report that was taken in another domain than it says.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The place in the batch.
    pub at: usize,
    pub project: ProjectId,
    pub told: String,
}

/// Reports with their places in the batch.
pub type Placed = Vec<(usize, Box<Report>)>;

/// Settles which domain each report is for: a project that an admin put into a domain stays there, and one that is told
/// by name is refused in another than its own, and taken out.
pub fn settle_domains(people: &Directory, names: &[Named], reports: &mut Placed) -> (Vec<Refused>, Vec<Kept>) {
    let mut coming: BTreeMap<ProjectId, String> = BTreeMap::new();
    let (mut refused, mut elsewhere) = (Vec::new(), Vec::new());
    reports.retain_mut(|(at, report)| {
        let (at, named) = (*at, &names[*at]);
        let id = report.owner.project;
        let known = people.project(id);
        let current: Option<&str> = match known {
            Some(project) => Some(&project.domain_name),
            None => coming.get(&id).map(String::as_str),
        };
        match current.filter(|current| **current != report.domain) {
            Some(current) if known.is_some_and(|project| project.domain_pinned) => {
                let told = std::mem::replace(&mut report.domain, current.to_owned());
                elsewhere.push(Kept { at, project: id, told });
            }
            Some(current) if named.stays => {
                let name = named.project.name.as_deref().unwrap_or_default();
                let detail = format!(
                    "the project {name:?} is in the domain {current:?}, and a report that names it cannot move it to {:?}",
                    report.domain
                );
                refused.push(Refused { at, fault: Fault::new("/domain_name", "project_in_other_domain", detail) });
                return false;
            }
            _ => {}
        }
        if known.is_none() {
            coming.entry(id).or_insert_with(|| report.domain.clone());
        }
        true
    });
    (refused, elsewhere)
}

/// One warning for each project and domain that reports have named.
pub fn warnings<'a>(people: &Directory, kept: impl Iterator<Item = &'a Kept>) -> Vec<Warning> {
    let mut counts: BTreeMap<(ProjectId, &str), u64> = BTreeMap::new();
    for Kept { project, told, .. } in kept {
        *counts.entry((*project, told)).or_default() += 1;
    }
    let warning = |((id, told), kernels): ((ProjectId, &str), u64)| {
        let project = people.project(id).map(|project| Arc::clone(&project.domain_name)).unwrap_or_default();
        let detail =
            format!("an admin has put the project into the domain {project:?}: reports for {told:?} count there");
        Warning { code: "domain_pinned", detail, project: id, kernels }
    };
    counts.into_iter().map(warning).collect()
}
