//! Usage buckets as REST shows them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::explain::count::ContributionScale;
use crate::domain::explain::exact_text;
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};
use crate::engine::people::PeopleDirectory;
use crate::service::buckets::BucketRow;

/// A tier of the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TierName {
    Domains,
    Projects,
    Users,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Self {
        match name {
            TierName::Domains => Self::Domain,
            TierName::Projects => Self::Project,
            TierName::Users => Self::User,
        }
    }
}

/// Usage of one entity from `period_start` to `period_end`, inclusive.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f",
    "domain_name": "research", "period_start": "2026-01-13", "period_end": "2026-01-13", "decay_unit_days": 1,
    "resource_usage": {"cpu": "86400"}, "capacity_snapshot": {"cpu": "100"},
    "decay_weight": "1", "contribution": "0.00035714285714285714",
    "created_at": "2026-01-13T10:05:00Z", "updated_at": "2026-01-13T23:55:00Z"
}))]
pub struct UsageBucket {
    /// Only in the user tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_uuid: Option<Uuid>,
    /// Not in the domain tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// The names to show beside the ids, if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    pub domain_name: String,
    #[schema(value_type = String, format = Date)]
    pub period_start: Day,
    #[schema(value_type = String, format = Date)]
    pub period_end: Day,
    pub decay_unit_days: u32,
    /// Slot-seconds.
    #[schema(value_type = BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// The group's capacity by which the usage is divided.
    #[schema(value_type = BTreeMap<String, String>)]
    pub capacity_snapshot: SlotAmounts,
    /// By how much the bucket counts now; "0" once it has left the look-back window.
    pub decay_weight: String,
    /// The part that it adds to the normalised usage of its owner, as a part of the window's capacity.
    pub contribution: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl UsageBucket {
    pub fn new(row: BucketRow, scale: ContributionScale, people: &PeopleDirectory) -> Self {
        let count = scale.count(row.period_start, &row.resource_usage, &row.capacity_snapshot);
        Self {
            decay_weight: exact_text(count.decay_weight),
            contribution: exact_text(count.contribution),
            user_uuid: row.user.map(|u| u.0),
            project_id: row.project.map(|p| p.0),
            user_name: row.user.and_then(|user| people.user_name(user)),
            project_name: row.project.and_then(|project| people.project_name(project)),
            domain_name: row.domain_name,
            period_start: row.period_start,
            period_end: row.period_end,
            decay_unit_days: row.decay_unit_days,
            resource_usage: row.resource_usage,
            capacity_snapshot: row.capacity_snapshot,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}
