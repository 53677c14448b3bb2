//! Usage buckets of domains as GraphQL shows them.

use async_graphql::{ID, Object};

use super::BucketFacts;
use crate::graphql::global_id;
use crate::service::buckets::BucketRow;

/// The usage of a domain in one period.
pub struct DomainUsageBucketNode(BucketFacts);

impl DomainUsageBucketNode {
    pub const KIND: &str = "DomainUsageBucketNode";

    pub fn new(group: &str, row: BucketRow) -> Self {
        Self(BucketFacts { group: group.to_owned(), row })
    }
}

#[Object(rename_fields = "snake_case")]
impl DomainUsageBucketNode {
    pub async fn id(&self) -> ID {
        let row = &self.0.row;
        global_id::encode(Self::KIND, &[&self.0.group, &row.domain_name, &row.period_start.to_string()])
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &BucketFacts {
        &self.0
    }
}
