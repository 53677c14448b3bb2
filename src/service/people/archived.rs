//! Archived users, projects and domains that still have running kernels.

use std::sync::Arc;

use crate::api::input_warning::{InputWarning, list_names};
use crate::domain::ids::Member;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::service::Service;
use crate::store::people::{Domain, Project, User};

/// The number of groups that a sentence names.
const MAX_NAMED_GROUPS: usize = 5;

impl Service {
    /// A warning if the user is archived but has running kernels. Needs no database.
    pub fn user_warnings(&self, user: &User) -> Vec<InputWarning> {
        let members = |rows: &RankedRows| rows.memberships(user.id).into_iter().map(|row| row.member).collect();
        self.at_work(user.archived_at.is_some(), "user", members)
    }

    /// [`Service::user_warnings`] for a project.
    pub fn project_warnings(&self, project: &Project) -> Vec<InputWarning> {
        let members = |rows: &RankedRows| rows.members_of(project.id).map(|row| row.member).collect();
        self.at_work(project.archived_at.is_some(), "project", members)
    }

    /// [`Service::user_warnings`] for a domain.
    pub fn domain_warnings(&self, domain: &Domain) -> Vec<InputWarning> {
        let members = |rows: &RankedRows| {
            let projects = rows.projects().filter(|project| project.domain_name == domain.name);
            projects.flat_map(|project| rows.members_of(project.project_id)).map(|row| row.member).collect()
        };
        self.at_work(domain.archived_at.is_some(), "domain", members)
    }

    fn at_work(&self, archived: bool, kind: &str, members: impl Fn(&RankedRows) -> Vec<Member>) -> Vec<InputWarning> {
        if !archived {
            return Vec::new();
        }
        let now = self.clock().now();
        let runs = |group: &Arc<GroupSnapshot>| {
            let facts = &group.facts;
            members(&facts.rows).into_iter().any(|member| !facts.outstanding.held(member, now).is_empty())
        };
        let groups = self.engine.published_groups().into_iter().filter(runs);
        let mut groups: Vec<String> = groups.map(|group| group.facts.name.to_string()).collect();
        groups.sort_unstable();
        if groups.is_empty() {
            return Vec::new();
        }
        let detail = format!(
            "the {kind} is archived while kernels of it run in {}: they count on, and a report that changes one shows the {kind} again",
            list_names(&groups, MAX_NAMED_GROUPS)
        );
        vec![InputWarning::at("/archived", "archived_at_work", detail)]
    }
}
