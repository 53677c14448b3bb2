//! Changes of the domains of projects by a write of a group's configuration. A project is in the same domain in all groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::ids::ProjectId;
use crate::domain::time::Timestamp;
use crate::engine::FairShareEngine;
use crate::engine::error::{Error, Result};
use crate::engine::group::publish::publish_where;
use crate::engine::group::transaction::GroupTransaction;
use crate::store::people::{Domain, PeopleRows, Project};

/// The domain of a project; a pinned one stays whatever reports say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainAssignment {
    pub domain_name: Arc<str>,
    pub domain_pinned: bool,
}

impl DomainAssignment {
    /// The assignment by an admin.
    pub fn pinned(domain: &Arc<str>) -> Self {
        Self { domain_name: Arc::clone(domain), domain_pinned: true }
    }

    pub fn of(project: &Project) -> Self {
        Self { domain_name: Arc::clone(&project.domain_name), domain_pinned: project.domain_pinned }
    }

    /// The project in this domain. Reports that are older than the move do not move it back.
    pub fn take(&self, project: &Project, now: Timestamp) -> Project {
        let mut project = project.clone();
        if project.domain_name != self.domain_name {
            project.domain_name = Arc::clone(&self.domain_name);
            project.domain_since = project.domain_since.max(now);
        }
        project.domain_pinned = self.domain_pinned;
        project
    }
}

/// Moves projects of the group into their domains. Returns those that changed, with the old and the new assignment.
pub async fn move_projects(
    session: &mut GroupTransaction,
    domain_assignments: BTreeMap<ProjectId, DomainAssignment>,
) -> Result<Vec<(ProjectId, DomainAssignment, DomainAssignment)>> {
    if domain_assignments.is_empty() {
        return Ok(Vec::new());
    }
    let lock = session.lock_people().await?;
    let (mut changed, mut rows) = (Vec::new(), PeopleRows::default());
    {
        let people = session.people();
        for (id, assigned_domain) in domain_assignments {
            let known = people.project(id);
            let known = known.ok_or_else(|| Error::internal(format!("project {id} vanished")))?;
            let before = DomainAssignment::of(known);
            if before == assigned_domain {
                continue;
            }
            let domain = &assigned_domain.domain_name;
            if people.domain(domain).is_none() && rows.domains.iter().all(|row| row.name != *domain) {
                rows.domains.push(Domain::new(Arc::clone(domain), session.now));
            }
            rows.projects.push(assigned_domain.take(known, session.now));
            changed.push((id, before, assigned_domain));
        }
    }
    if changed.is_empty() {
        return Ok(changed);
    }
    for (id, _, assigned_domain) in &changed {
        session.apply_to_state(|state| state.know_project(*id, &assigned_domain.domain_name));
    }
    session.show_again();
    session.reconfigure();
    session.save_people(lock, rows).await?;
    Ok(changed)
}

/// Publishes the other groups again that have the moved projects.
pub async fn show_elsewhere(engine: &Arc<FairShareEngine>, group: &str, moved: &[ProjectId]) {
    if !moved.is_empty() {
        publish_where(engine, |other, rows| other != group && moved.iter().any(|id| rows.project(*id).is_some())).await;
    }
}
