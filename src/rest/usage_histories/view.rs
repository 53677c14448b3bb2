//! Histories of usage as REST shows them, and the body with their rows.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::reading::AtMost;
use crate::domain::time::{Day, Timestamp};
use crate::service::usage_history::incoming::HistoryInput;
use crate::service::usage_history::{StoredHistory, StoredHistoryCounts};

/// The largest number of rows in one request.
pub const MAX_ROWS: usize = 5_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HistoryPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    /// Where the usage came from.
    #[param(example = "slurm-2023", min_length = 1, max_length = 64)]
    pub source: String,
}

/// Rows of a history.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "rows": [
        {
            "day": "2023-01-05", "domain_name": "research", "user": "alice", "project": "climate", "jobs": 3,
            "resource_usage": {"cpu": "86400"}
        }
    ],
    "complete": true
}))]
pub struct HistoryBody {
    /// At most 5,000. A row of the same day, user, project, domain and charge class takes the place of one that an earlier request brought.
    #[schema(value_type = Vec<HistoryInput>, max_items = 5000)]
    pub rows: AtMost<HistoryInput, MAX_ROWS>,
    /// `true`: these are the last. From here on the history counts, and takes no more rows.
    #[serde(default)]
    pub complete: bool,
}

/// The result for the rows.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"stored": 2, "left_out": 0}))]
pub struct HistoryAnswer {
    pub stored: u64,
    /// Rows of days whose usage the server counts from kernels.
    pub left_out: u64,
    /// The days of these rows.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schema(required = false, value_type = Vec<String>)]
    pub left_out_days: BTreeSet<Day>,
    /// The first day of which the server has recorded usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Date)]
    pub recorded_from: Option<Day>,
}

impl From<StoredHistoryCounts> for HistoryAnswer {
    fn from(taken: StoredHistoryCounts) -> Self {
        let StoredHistoryCounts { stored, left_out, left_out_days, recorded_from } = taken;
        Self { stored, left_out, left_out_days, recorded_from }
    }
}

/// A history.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"source": "slurm-2023", "complete": true, "created_at": "2026-01-13T10:00:00Z"}))]
pub struct UsageHistory {
    pub source: String,
    /// True if all its rows are stored; before that none of them counts.
    pub complete: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<StoredHistory> for UsageHistory {
    fn from(history: StoredHistory) -> Self {
        Self { source: history.name, complete: history.is_complete, created_at: history.created_at }
    }
}
