//! The undo of changes of the domains of projects.

use serde_json::{Value, json};

use super::moves::{ItemMove, item_moves};
use crate::domain::ids::{Owner, ProjectId};
use crate::engine::audit::{label, owner_of};
use crate::engine::group::changes::projects::{self, DomainAssignment};
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::transaction::GroupTransaction;
use crate::service::Result;

/// The projects that an entry has moved to other domains.
#[derive(Debug, Default)]
pub struct DomainMoves(Vec<ItemMove<ProjectId, DomainAssignment>>);

impl DomainMoves {
    pub fn read(before: &Value, after: &Value) -> Option<Self> {
        let project = |name: &str| match owner_of(name)? {
            Owner::Project(id) => Some(id),
            _ => None,
        };
        item_moves(before, after, project).map(Self)
    }

    pub fn projects(&self) -> Vec<ProjectId> {
        self.0.iter().map(|(id, ..)| *id).collect()
    }

    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(id, ..)| label(&Owner::Project(*id)))
    }

    /// The first project that is not in the domain that it had after the change.
    pub fn differs(&self, session: &GroupTransaction) -> Option<String> {
        let people = session.people();
        let assigned_domain = |id: ProjectId| people.project(id).map(|project| DomainAssignment::of(project));
        let other = self.0.iter().find(|(id, _, after)| assigned_domain(*id).as_ref() != Some(after));
        other.map(|(id, ..)| label(&Owner::Project(*id)))
    }

    pub async fn take_back(&self, session: &mut GroupTransaction, record: &mut ChangeRecord) -> Result<()> {
        let domain_assignments = self.0.iter().map(|(id, before, _)| (*id, before.clone())).collect();
        for (project, before, after) in projects::move_projects(session, domain_assignments).await? {
            record.note("projects", &label(&Owner::Project(project)), json!(before), json!(after));
        }
        Ok(())
    }
}
