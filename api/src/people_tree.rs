//! The tree of people that a connector brings: the domains, projects and users of a resource group with their weights.

use domain::reading::{ReadOnly, at_most};
use domain::weight::{Weight, deserialize_nullable_text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The largest number of domains, projects and users in one tree.
pub const MAX_NODES: usize = 250_000;

/// The domains, projects and users of a resource group, with their weights.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "resource_group": "gpu-cluster",
    "domains": [{
        "domain_name": "physics", "weight": "3",
        "projects": [{"project": "climate", "weight": "2", "users": [{"user": "alice", "weight": "1"}, {"user": "bob"}]}]
    }]
}))]
pub struct PeopleTree {
    /// The group whose weights the tree has.
    pub resource_group: String,
    /// At most 250,000 domains, projects and users together.
    #[serde(deserialize_with = "at_most::<MAX_NODES, _, _>")]
    #[schema(max_items = 250_000)]
    pub domains: Vec<DomainBranch>,
    /// Why, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A domain with its projects.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainBranch {
    #[schema(example = "physics")]
    pub domain_name: String,
    /// Above 0, at most 999999.9999, with at most 4 decimals; absent or `null`: the tree sets none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    // A key of the answer of GET. A comment for the document would give it the type of an object.
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub weight_pinned: ReadOnly,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "at_most::<MAX_NODES, _, _>")]
    #[schema(max_items = 250_000)]
    pub projects: Vec<ProjectBranch>,
}

/// A project with its users.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectBranch {
    /// The name; a UUID is read as a name.
    #[schema(example = "climate")]
    pub project: String,
    /// As that of a domain.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub weight_pinned: ReadOnly,
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub domain_pinned: ReadOnly,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "at_most::<MAX_NODES, _, _>")]
    #[schema(max_items = 250_000)]
    pub users: Vec<UserLeaf>,
}

/// A user of a project.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserLeaf {
    /// The name; a UUID is read as a name.
    #[schema(example = "alice")]
    pub user: String,
    /// The weight within the project, as that of a domain.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_nullable_text")]
    #[schema(value_type = Option<Weight>)]
    pub weight: Option<String>,
    #[serde(default, skip_serializing_if = "is_left_out")]
    #[schema(inline)]
    pub weight_pinned: ReadOnly,
}

/// Always true: a connector sends no key that is ignored.
fn is_left_out<T>(_: &T) -> bool {
    true
}

impl PeopleTree {
    /// The number of domains, projects and users.
    pub fn count_nodes(&self) -> usize {
        let projects = self.domains.iter().flat_map(|domain| &domain.projects);
        projects.map(|project| 1 + project.users.len()).sum::<usize>() + self.domains.len()
    }
}

/// The answer to a tree of people, as clients read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TreeAnswer {
    pub set: u64,
    pub unset: u64,
    pub moved: u64,
    pub created: u64,
    /// The values that stay as an admin has set them.
    pub pinned: Vec<PinnedValue>,
}

/// A value that an admin has set and that differs from that of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PinnedValue {
    pub target_id: String,
    pub target_name: Option<String>,
    pub key: String,
    pub from: Option<String>,
    pub to: Option<String>,
}
