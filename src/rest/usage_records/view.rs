//! Usage records as REST shows them.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::slots::SlotUsages;
use crate::domain::time::Timestamp;
use crate::service::kernels::StoredRecord;

/// The usage of one kernel in one slice, or in several slices that were merged.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "kernel_id": "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b", "period_start": "2026-01-13T10:00:00Z",
    "period_end": "2026-01-13T10:05:00Z", "charge_class": "high", "resource_usage": {"cpu": "1200"}, "compacted": false
}))]
pub struct UsageRecordView {
    pub kernel_id: Uuid,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    /// The charge class of the kernel when the usage was recorded; empty: none.
    #[schema(value_type = String)]
    pub charge_class: Arc<str>,
    /// Slot-seconds.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// True if slices of the same slots and class were merged.
    pub compacted: bool,
}

impl From<StoredRecord> for UsageRecordView {
    fn from(record: StoredRecord) -> Self {
        Self {
            kernel_id: record.kernel.0,
            period_start: record.span().start,
            period_end: record.span().end,
            charge_class: Arc::clone(&record.dimensions.charge_class),
            resource_usage: record.usage(),
            compacted: record.is_compacted(),
        }
    }
}
