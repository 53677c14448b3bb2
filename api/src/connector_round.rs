//! The report of a connector's round, as it is sent and as it is shown, and the status of connectors.

use domain::connectors::{ConnectorKind, ConnectorMode};
use domain::names::MAX_NAME;
use domain::reading::at_most;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::input_warning::InputWarning;

/// The largest number of errors of a round.
const MAX_ERRORS: usize = 100;
/// The longest version of a connector, and the longest code and detail of an error, in characters.
pub const MAX_CODE: usize = MAX_NAME;
pub const MAX_DETAIL: usize = 1_000;

/// An error of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundError {
    /// A stable name, 1 to 64 characters.
    #[schema(example = "write_denied", min_length = 1, max_length = 64)]
    pub code: String,
    /// A sentence for people, at most 1000 characters.
    #[schema(example = "scontrol: Access/permission denied", max_length = 1000)]
    pub detail: String,
}

/// Declares the two forms of a round with the same counts: the one that is sent, which has also the connector, and the one that
/// is stored and shown.
macro_rules! round_forms {
    ($($(#[$said:meta])* $count:ident,)+) => {
        /// One round of a connector: the object that it prints with `--once -o json`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
        #[schema(example = json!({
            "mode": "shadow", "jobs": 420, "pending": 300, "eligible": 250, "held": 20, "dependent": 25, "limited": 4, "fixed": 1,
            "reported": 420, "rejected": 0, "spooled": 0, "compared": 200, "same_place": 150, "kendall_tau": 0.93,
            "wanted_writes": 0, "written": 0, "read_back_differs": 0, "left": 0, "seconds": 1.2, "errors": []
        }))]
        pub struct ConnectorRound {
            pub mode: ConnectorMode,
            $($(#[$said])* #[serde(default)] pub $count: u32,)+
            /// Kendall's tau of the comparison, -1 to 1; `null`: fewer than two workloads were compared.
            #[serde(default)]
            pub kendall_tau: Option<f64>,
            /// How long the round took.
            #[serde(default)]
            pub seconds: f64,
            #[serde(default)]
            pub errors: Vec<RoundError>,
        }

        /// One round of a connector, with the connector that reports it. A number that is left out is 0.
        #[derive(Clone, Debug, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        #[schema(example = json!({
            "resource_group": "gpu-cluster", "kind": "slurm", "version": "0.2.0",
            "mode": "shadow", "jobs": 420, "pending": 300, "eligible": 250, "held": 20, "dependent": 25, "limited": 4, "fixed": 1,
            "reported": 420, "rejected": 0, "spooled": 0, "compared": 200, "same_place": 150, "kendall_tau": 0.93,
            "wanted_writes": 0, "written": 0, "read_back_differs": 0, "left": 0, "seconds": 1.2, "errors": []
        }))]
        pub struct ConnectorReport {
            /// The group that the connector reports to.
            pub resource_group: String,
            pub kind: ConnectorKind,
            /// The version of the connector, 1 to 64 characters.
            #[schema(min_length = 1, max_length = 64)]
            pub version: String,
            pub mode: ConnectorMode,
            $($(#[$said])* #[serde(default)] pub $count: u32,)+
            /// Kendall's tau of the comparison, -1 to 1; `null`: fewer than two workloads were compared.
            #[schema(minimum = -1, maximum = 1)]
            pub kendall_tau: Option<f64>,
            /// How long the round took.
            #[serde(default)]
            #[schema(minimum = 0, maximum = 31_536_000)]
            pub seconds: f64,
            #[serde(default, deserialize_with = "at_most::<MAX_ERRORS, _, _>")]
            #[schema(max_items = 100)]
            pub errors: Vec<RoundError>,
        }

        impl ConnectorReport {
            /// The round alone.
            pub fn into_round(self) -> ConnectorRound {
                let Self { mode, kendall_tau, seconds, errors, $($count,)+ .. } = self;
                ConnectorRound { mode, kendall_tau, seconds, errors, $($count,)+ }
            }
        }
    };
}

round_forms! {
    /// Jobs that the scheduler has.
    jobs,
    /// Jobs that wait.
    pending,
    /// Pending jobs that may start.
    eligible,
    /// Pending jobs that are held.
    held,
    /// Pending jobs that wait for another job or for a time.
    dependent,
    /// Pending jobs that a limit of the scheduler keeps from starting.
    limited,
    /// Pending jobs whose priority an admin has fixed.
    fixed,
    /// Rows that were reported to this server and accepted.
    reported,
    /// Rows that this server has refused.
    rejected,
    /// Reports that wait on the disk of the connector.
    spooled,
    /// Workloads that both orders have.
    compared,
    /// Compared workloads that have the same place in both orders.
    same_place,
    /// Values that differ from those that the scheduler should have.
    wanted_writes,
    /// Values that were written.
    written,
    /// Written values that the scheduler did not have afterwards.
    read_back_differs,
    /// Values that are left for the next round.
    left,
}

/// A connector as the documentation shows it.
fn connector_example() -> Value {
    json!({
        "cluster": "linux", "kind": "slurm", "version": "0.2.0", "mode": "shadow", "resource_group": "gpu-cluster",
        "last_round_at": "2026-01-13T12:00:00Z",
        "last": {
            "mode": "shadow", "jobs": 420, "pending": 300, "eligible": 250, "held": 20, "dependent": 25, "limited": 4, "fixed": 1,
            "reported": 420, "rejected": 0, "spooled": 0, "compared": 200, "same_place": 150, "kendall_tau": 0.93,
            "wanted_writes": 0, "written": 0, "read_back_differs": 0, "left": 0, "seconds": 1.2, "errors": []
        }
    })
}

/// A connector with its last round.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(example = json!(connector_example()))]
pub struct ConnectorStatus {
    /// The cluster whose scheduler it reads.
    pub cluster: String,
    pub kind: ConnectorKind,
    pub version: String,
    pub mode: ConnectorMode,
    pub resource_group: String,
    /// When the server got the report of the last round.
    #[schema(value_type = String, format = DateTime)]
    pub last_round_at: Timestamp,
    pub last: ConnectorRound,
}

/// The connector with the reported round.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!(connector_example()))]
pub struct ConnectorWritten {
    #[serde(flatten)]
    pub connector: ConnectorStatus,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}
