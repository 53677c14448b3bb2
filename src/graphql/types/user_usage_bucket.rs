//! Usage buckets of users in their projects as GraphQL shows them.

use async_graphql::{Context, ID, Object, Result};

use super::BucketFacts;
use crate::domain::ids::Member;
use crate::graphql::global_id;
use crate::graphql::query::service;
use crate::graphql::scalars::Uuid;
use crate::service::buckets::BucketRow;

/// The usage of a user in one project and period.
pub struct UserUsageBucketNode {
    member: Member,
    facts: BucketFacts,
}

impl UserUsageBucketNode {
    pub const KIND: &str = "UserUsageBucketNode";

    /// `None` for a row of another tier.
    pub fn new(group: &str, row: BucketRow) -> Option<Self> {
        Some(Self { member: row.member()?, facts: BucketFacts { group: group.to_owned(), row } })
    }
}

#[Object(rename_fields = "snake_case")]
impl UserUsageBucketNode {
    pub async fn id(&self) -> ID {
        let (user, project) = (self.member.user.to_string(), self.member.project.to_string());
        let start = self.facts.row.period_start.to_string();
        global_id::encode(Self::KIND, &[&self.facts.group, &user, &project, &start])
    }

    async fn user_uuid(&self) -> Uuid {
        Uuid(self.member.user.0)
    }

    /// The name to show beside the id, if there is one.
    async fn user_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(service(ctx)?.people().user_name(self.member.user).map(|name| name.to_string()))
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.member.project.0)
    }

    /// The name to show beside the id, if there is one.
    async fn project_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(service(ctx)?.people().project_name(self.member.project).map(|name| name.to_string()))
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &BucketFacts {
        &self.facts
    }
}
