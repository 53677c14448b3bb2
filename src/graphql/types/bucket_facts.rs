use async_graphql::Object;

use crate::graphql::scalars::{Date, DateTime, JsonString};
use crate::service::buckets::BucketRow;

/// What the usage buckets of all three tiers tell.
pub struct BucketFacts {
    pub group: String,
    pub row: BucketRow,
}

#[Object(rename_fields = "snake_case")]
impl BucketFacts {
    async fn domain_name(&self) -> &str {
        &self.row.domain_name
    }

    async fn resource_group(&self) -> &str {
        &self.group
    }

    /// The day of the first usage.
    async fn period_start(&self) -> Date {
        Date(self.row.period_start)
    }

    /// The last day with usage.
    async fn period_end(&self) -> Date {
        Date(self.row.period_end)
    }

    /// Days that the bucket may span.
    async fn decay_unit_days(&self) -> u32 {
        self.row.decay_unit_days
    }

    /// Slot-seconds by slot.
    async fn resource_usage(&self) -> JsonString {
        JsonString::of(&self.row.resource_usage)
    }

    /// What the group offered then, by slot.
    async fn capacity_snapshot(&self) -> JsonString {
        JsonString::of(&self.row.capacity_snapshot)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.row.created_at)
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.row.updated_at)
    }
}
