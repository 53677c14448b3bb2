//! The result of the audit of one group, as REST shows it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::slots::SlotUsages;
use crate::domain::time::Day;
use crate::engine::accounting::conservation::ConservationResult;

/// The result of an audit of one group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "ok": true, "difference": null, "buckets": 3,
    "totals": {"users": {"cpu": "3600"}, "projects": {"cpu": "3600"}, "domains": {"cpu": "3600"}}, "records_from": null
}))]
pub struct AuditReport {
    /// Nothing is lost and nothing counted twice.
    pub ok: bool,
    pub difference: Option<DifferenceView>,
    /// Buckets compared.
    pub buckets: u64,
    pub totals: TierTotals,
    /// Records of earlier days were purged; those days are compared between tiers only.
    #[schema(value_type = Option<String>, format = Date)]
    pub records_from: Option<Day>,
}

/// The first row that differs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Difference)]
pub struct DifferenceView {
    pub row: String,
    pub detail: String,
}

/// Slot-seconds in each tier.
#[derive(Debug, Serialize, ToSchema)]
pub struct TierTotals {
    #[schema(value_type = BTreeMap<String, String>)]
    pub users: SlotUsages,
    #[schema(value_type = BTreeMap<String, String>)]
    pub projects: SlotUsages,
    #[schema(value_type = BTreeMap<String, String>)]
    pub domains: SlotUsages,
}

impl From<ConservationResult> for AuditReport {
    fn from(found: ConservationResult) -> Self {
        let [users, projects, domains] = found.totals;
        Self {
            ok: found.difference.is_none(),
            difference: found.difference.map(|d| DifferenceView { row: d.row, detail: d.detail }),
            buckets: found.buckets,
            totals: TierTotals { users, projects, domains },
            records_from: found.records_from,
        }
    }
}
