use async_graphql::{ID, Object};

use super::BucketFacts;
use crate::domain::ids::Member;
use crate::graphql::global_id;
use crate::graphql::scalars::Uuid;
use crate::service::buckets::BucketRow;

/// What a user has used in one project and period.
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

    async fn project_id(&self) -> Uuid {
        Uuid(self.member.project.0)
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &BucketFacts {
        &self.facts
    }
}
