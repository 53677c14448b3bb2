//! Usage records as GraphQL shows them.

use async_graphql::{Context, Object};

use crate::graphql::query::service;
use crate::graphql::scalars::{DateTime, JsonString, Uuid};
use crate::service::Result;
use crate::service::kernels::StoredRecord;

/// The usage of one kernel in one slice, or in several slices that were merged.
pub struct UsageRecordNode(pub StoredRecord);

#[Object(rename_fields = "snake_case")]
impl UsageRecordNode {
    async fn kernel_id(&self) -> Uuid {
        Uuid(self.0.kernel.0)
    }

    async fn user_uuid(&self) -> Uuid {
        Uuid(self.0.owner.user.0)
    }

    /// The name to show beside the id, if there is one.
    async fn user_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(service(ctx)?.people().user_name(self.0.owner.user).map(|name| name.to_string()))
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.0.owner.project.0)
    }

    /// The name to show beside the id, if there is one.
    async fn project_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(service(ctx)?.people().project_name(self.0.owner.project).map(|name| name.to_string()))
    }

    async fn domain_name(&self) -> &str {
        &self.0.dimensions.domain
    }

    /// The charge class of the kernel when the usage was recorded; empty: none.
    async fn charge_class(&self) -> &str {
        &self.0.dimensions.charge_class
    }

    async fn period_start(&self) -> DateTime {
        DateTime(self.0.span().start)
    }

    async fn period_end(&self) -> DateTime {
        DateTime(self.0.span().end)
    }

    /// Slot-seconds.
    async fn resource_usage(&self) -> JsonString {
        JsonString(serde_json::to_value(self.0.usage()).unwrap_or_default())
    }

    /// True if slices of the same slots were merged.
    async fn compacted(&self) -> bool {
        self.0.is_compacted()
    }
}
