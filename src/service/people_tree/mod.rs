//! The tree of people that a connector brings: domains, projects and users of a resource group, with their weights.
//!
//! A scheduler has a tree of accounts with shares of its own. A connector brings it whole, again and again, and the weights of the
//! group follow it. An admin may set weights by hand beside it, and these stay: the tree sets and unsets only weights whose last
//! change came from a tree, and weights that are not set.
//!
//! The audit log says from where a weight came, because each change of a weight leaves an entry with its targets, and such entries are
//! kept for ever. So no row of a weight needs a column for its origin, and every way of setting a weight by hand pins it. A project
//! whose domain an admin has set is pinned as for reports (`domain_pinned`).
//!
//! Invariants:
//! - A tree is applied whole or not at all, in one transaction of the group, with one audit entry.
//! - The same tree again changes nothing and leaves no entry.
//! - A weight that a tree has brought and a later one does not have is unset. People are never removed.
//! - The number of statements does not grow with the tree, but for the limits of rows in one statement.

pub mod current;
mod nodes;
mod plan;

use std::sync::Arc;

use self::plan::TreePlan;
use super::{Caller, Result, Service};
use crate::api::people_tree::PeopleTree;
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::weight::Weight;
use crate::engine::group::changes::projects;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::work::run_to_completion;

/// The action in the audit log.
pub const ACTION: &str = "people_tree.put";

/// A domain, project or user with the names to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTarget {
    pub owner: Owner,
    pub project_name: Option<Arc<str>>,
    pub user_name: Option<Arc<str>>,
}

/// A value of an owner that differs from that of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeDifference {
    Weight { from: Option<Weight>, to: Option<Weight> },
    Domain { from: Arc<str>, to: Arc<str> },
}

/// A change that a tree has made, or a value that it left alone.
#[derive(Clone, Debug)]
pub struct TreeChange {
    pub target: NamedTarget,
    pub difference: TreeDifference,
    /// The place in the request; `None`: the tree does not have the owner.
    pub pointer: Option<String>,
}

/// The result of a tree.
#[derive(Clone, Debug, Default)]
pub struct PeopleTreeChanged {
    /// The weights that were set or unset, and the projects that moved.
    pub changes: Vec<TreeChange>,
    /// The values that an admin has set, and that differ from those of the tree: they stay.
    pub pinned: Vec<TreeChange>,
    /// The number of domains, projects and users that are new to the group.
    pub created: usize,
    /// The number of weights of the tree that were as they are.
    pub unchanged: usize,
}

impl Service {
    /// Sets the weights and the domains of a group as a tree has them. With `dry_run` it returns the changes without making them.
    #[tracing::instrument(
        name = "service.people_tree.put_people_tree",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn put_people_tree(
        self: &Arc<Self>,
        caller: Caller,
        tree: PeopleTree,
        dry_run: bool,
    ) -> Result<PeopleTreeChanged> {
        caller.require_connector()?;
        let service = Arc::clone(self);
        let (group, by) = (tree.resource_group.clone(), caller.clone());
        run_to_completion(async move {
            if dry_run {
                let change = async |session: &mut GroupTransaction| {
                    Ok(TreePlan::make(session, &by, &tree).await?.into_changed())
                };
                return Arc::clone(&service).preview(caller, group, change).await;
            }
            let change = async |session: &mut GroupTransaction| {
                let mut plan = TreePlan::make(session, &by, &tree).await?;
                plan.apply(session, tree.reason.clone()).await?;
                Ok((plan.moved_projects(), plan.into_changed()))
            };
            let (moved, changed): (Vec<ProjectId>, _) =
                Arc::clone(&service).change(caller, group.clone(), change).await?;
            projects::show_elsewhere(&service.engine, &group, &moved).await;
            Ok(changed)
        })
        .await
    }
}
