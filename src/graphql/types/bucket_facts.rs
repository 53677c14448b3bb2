//! The fields that the usage buckets of all three tiers have in common.

use async_graphql::{Context, Object, Result};

use crate::domain::explain::count::BucketContribution;
use crate::domain::explain::exact_text;
use crate::graphql::query::{caller, service};
use crate::graphql::scalars::{Date, DateTime, JsonString};
use crate::service::buckets::BucketRow;

/// The fields that the usage buckets of all three tiers have in common.
pub struct BucketFacts {
    pub group: String,
    pub row: BucketRow,
}

impl BucketFacts {
    fn count(&self, ctx: &Context<'_>) -> Result<BucketContribution> {
        let (service, row) = (service(ctx)?, &self.row);
        let group = service.group(caller(ctx)?, &self.group)?;
        let scale = group.scale(service.clock().now());
        Ok(scale.count(row.period_start, &row.resource_usage, &row.capacity_snapshot))
    }
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

    /// The capacity of the group at that time, by slot.
    async fn capacity_snapshot(&self) -> JsonString {
        JsonString::of(&self.row.capacity_snapshot)
    }

    /// By how much the bucket counts now; "0" once it has left the look-back window.
    async fn decay_weight(&self, ctx: &Context<'_>) -> Result<String> {
        Ok(exact_text(self.count(ctx)?.decay_weight))
    }

    /// The part that it adds to the normalised usage of its owner, as a part of the window's capacity.
    async fn contribution(&self, ctx: &Context<'_>) -> Result<String> {
        Ok(exact_text(self.count(ctx)?.contribution))
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.row.created_at)
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.row.updated_at)
    }
}
