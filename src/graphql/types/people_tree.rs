//! The tree of people of a resource group, as GraphQL shows it.

use async_graphql::{Context, Object, Result};

use crate::graphql::guard;
use crate::service::people_tree::current::{CurrentDomain, CurrentPeopleTree, CurrentProject, CurrentUser};

/// A tree of people.
pub struct CurrentTreeNode(pub CurrentPeopleTree);

/// The domains, projects and users of a resource group, with their weights.
#[Object(name = "PeopleTree", rename_fields = "snake_case")]
impl CurrentTreeNode {
    async fn resource_group(&self) -> &str {
        &self.0.resource_group
    }

    /// By name.
    async fn domains(&self, ctx: &Context<'_>) -> Result<Vec<TreeDomainNode<'_>>> {
        guard::spend_rows(ctx, self.0.domains.len())?;
        Ok(self.0.domains.iter().map(TreeDomainNode).collect())
    }
}

struct TreeDomainNode<'t>(&'t CurrentDomain);

/// A domain of a tree of people, with the projects that are in it.
#[Object(name = "PeopleTreeDomain", rename_fields = "snake_case")]
impl TreeDomainNode<'_> {
    async fn domain_name(&self) -> &str {
        &self.0.domain_name
    }

    /// Null: it is not set.
    async fn weight(&self) -> Option<&str> {
        self.0.weight.as_deref()
    }

    /// True if the weight was set by hand, so that no tree changes it.
    async fn weight_pinned(&self) -> bool {
        self.0.weight_pinned
    }

    /// By name.
    async fn projects(&self, ctx: &Context<'_>) -> Result<Vec<TreeProjectNode<'_>>> {
        guard::spend_rows(ctx, self.0.projects.len())?;
        Ok(self.0.projects.iter().map(TreeProjectNode).collect())
    }
}

struct TreeProjectNode<'t>(&'t CurrentProject);

/// A project of a tree of people.
#[Object(name = "PeopleTreeProject", rename_fields = "snake_case")]
impl TreeProjectNode<'_> {
    /// The name; the UUID of a project without one.
    async fn project(&self) -> &str {
        &self.0.project
    }

    /// True if an admin has set the domain, so that no tree moves the project.
    async fn domain_pinned(&self) -> bool {
        self.0.domain_pinned
    }

    /// Null: it is not set.
    async fn weight(&self) -> Option<&str> {
        self.0.weight.as_deref()
    }

    /// True if the weight was set by hand, so that no tree changes it.
    async fn weight_pinned(&self) -> bool {
        self.0.weight_pinned
    }

    /// By name.
    async fn users(&self, ctx: &Context<'_>) -> Result<Vec<TreeUserNode<'_>>> {
        guard::spend_rows(ctx, self.0.users.len())?;
        Ok(self.0.users.iter().map(TreeUserNode).collect())
    }
}

struct TreeUserNode<'t>(&'t CurrentUser);

/// A user of a project of a tree of people.
#[Object(name = "PeopleTreeUser", rename_fields = "snake_case")]
impl TreeUserNode<'_> {
    /// The name; the UUID of a user without one.
    async fn user(&self) -> &str {
        &self.0.user
    }

    /// The weight within the project; null: it is not set.
    async fn weight(&self) -> Option<&str> {
        self.0.weight.as_deref()
    }

    /// True if the weight was set by hand, so that no tree changes it.
    async fn weight_pinned(&self) -> bool {
        self.0.weight_pinned
    }
}
