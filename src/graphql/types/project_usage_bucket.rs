//! Usage buckets of projects as GraphQL shows them.

use async_graphql::{Context, ID, Object, Result};

use super::BucketFacts;
use crate::domain::ids::ProjectId;
use crate::graphql::global_id;
use crate::graphql::query::service;
use crate::graphql::scalars::Uuid;
use crate::service::buckets::BucketRow;

/// The usage of a project in one period.
pub struct ProjectUsageBucketNode {
    project: uuid::Uuid,
    facts: BucketFacts,
}

impl ProjectUsageBucketNode {
    pub const KIND: &str = "ProjectUsageBucketNode";

    /// `None` for a row of another tier.
    pub fn new(group: &str, row: BucketRow) -> Option<Self> {
        Some(Self { project: row.project?.0, facts: BucketFacts { group: group.to_owned(), row } })
    }
}

#[Object(rename_fields = "snake_case")]
impl ProjectUsageBucketNode {
    pub async fn id(&self) -> ID {
        let start = self.facts.row.period_start.to_string();
        global_id::encode(Self::KIND, &[&self.facts.group, &self.project.to_string(), &start])
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.project)
    }

    /// The name to show beside the id, if there is one.
    async fn project_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(service(ctx)?.people().project_name(ProjectId(self.project)).map(|name| name.to_string()))
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &BucketFacts {
        &self.facts
    }
}
