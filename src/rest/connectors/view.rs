//! The answer to the report of a round.

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::input_warning::InputWarning;
use crate::service::connectors::ConnectorStatus;

/// The connector with the reported round.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "cluster": "linux", "kind": "slurm", "version": "0.2.0", "mode": "shadow", "resource_group": "gpu-cluster",
    "last_round_at": "2026-01-13T12:00:00Z",
    "last": {
        "mode": "shadow", "jobs": 420, "pending": 300, "eligible": 250, "held": 20, "dependent": 25, "limited": 4, "fixed": 1,
        "reported": 420, "rejected": 0, "spooled": 0, "compared": 200, "same_place": 150, "kendall_tau": 0.93,
        "wanted_writes": 0, "written": 0, "read_back_differs": 0, "left": 0, "seconds": 1.2, "errors": []
    }
}))]
pub struct ConnectorWritten {
    #[serde(flatten)]
    pub connector: ConnectorStatus,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}
