//! The requests of a connector to the server.

use std::collections::BTreeMap;
use std::future::Future;

use api::people_tree::PeopleTree;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::eligible::EligibleWorkload;
use super::fault::RoundFault;

/// The reason why the server did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFailure {
    /// The server does not answer. A later attempt may succeed.
    Away(String),
    /// The server refused the request, with its code.
    Refused { code: String, detail: String },
}

impl ServerFailure {
    pub fn into_fault(self) -> RoundFault {
        match self {
            Self::Away(detail) => RoundFault::new("server_away", detail),
            Self::Refused { code, detail } => RoundFault { code, detail },
        }
    }
}

/// The answer to a report of kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedRows {
    /// The number of rows that were rejected, and the first reason of each code.
    pub rejected: u64,
    /// The number of them that are older than the server keeps. Reporting them again is of no use.
    pub too_old: u64,
    pub reasons: Vec<RoundFault>,
}

/// A request for the order of workloads.
#[derive(Clone, Debug, Serialize)]
pub struct OrderRequest<'a> {
    pub workloads: Vec<WorkloadRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The scheduler's own order; absent for a server that does not know the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_order: Option<Vec<&'a str>>,
}

/// A workload of an [`OrderRequest`].
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadRow<'a> {
    workload_id: &'a str,
    user: &'a str,
    project: &'a str,
    submitted_at: Timestamp,
    priority: i32,
    requested_slots: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a EligibleWorkload> for WorkloadRow<'a> {
    fn from(workload: &'a EligibleWorkload) -> Self {
        let EligibleWorkload { workload_id, user, project, submitted_at, priority, requested_slots } = workload;
        Self { workload_id, user, project, submitted_at: *submitted_at, priority: *priority, requested_slots }
    }
}

/// The order that the server answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ServerOrder {
    pub items: Vec<WorkloadPlace>,
    /// Absent if the server does not compare orders.
    pub agreement: Option<AgreementAnswer>,
}

/// A workload at its place of the order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WorkloadPlace {
    pub workload_id: String,
    /// The rank of its owner; `None` for an owner that the group does not know yet.
    pub rank: Option<u32>,
}

/// How far the scheduler's own order equals that of the server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AgreementAnswer {
    pub compared: u64,
    pub same_place: u64,
    /// Kendall's tau; absent if fewer than two workloads were compared.
    pub kendall_tau: Option<f64>,
}

/// The key of the connector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KeyRights {
    pub role: String,
    /// The only groups that it reaches; `None`: all.
    pub resource_groups: Option<Vec<String>>,
    /// The time of the server at its answer, in whole seconds; `None`: the answer does not say it.
    #[serde(skip)]
    pub answered_at: Option<Timestamp>,
}

impl KeyRights {
    /// True if the key may set agents and bring the tree of people.
    pub fn is_of_connector(&self) -> bool {
        ["admin", "connector"].contains(&self.role.as_str())
    }
}

/// The answer to a tree of people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TreeAnswer {
    pub set: u64,
    pub unset: u64,
    pub moved: u64,
    pub created: u64,
    /// The values that stay as an admin has set them.
    pub pinned: Vec<PinnedValue>,
}

/// A value that an admin has set and that differs from that of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PinnedValue {
    pub target_id: String,
    pub target_name: Option<String>,
    pub key: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// A node as an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentReport {
    pub agent_id: String,
    pub available_slots: BTreeMap<String, String>,
    pub alive: bool,
    pub schedulable: bool,
}

/// The requests of a connector.
pub trait FairShareServer {
    /// Reports kernels, one in each line.
    fn report_kernels(&self, group: &str, lines: Vec<u8>) -> impl Future<Output = Result<ReportedRows, ServerFailure>>;

    /// Asks for the order of workloads.
    fn order_workloads(
        &self,
        group: &str,
        request: &OrderRequest,
    ) -> impl Future<Output = Result<ServerOrder, ServerFailure>>;

    /// Creates or replaces agents.
    fn put_agents(&self, group: &str, agents: &[AgentReport]) -> impl Future<Output = Result<(), ServerFailure>>;

    /// Brings the tree of people of a group.
    fn put_people_tree(&self, tree: &PeopleTree) -> impl Future<Output = Result<TreeAnswer, ServerFailure>>;

    /// Stores the outcome of a round as the connector's status.
    fn put_status(&self, cluster: &str, status: &Value) -> impl Future<Output = Result<(), ServerFailure>>;

    /// The key that the connector shows.
    fn key_rights(&self) -> impl Future<Output = Result<KeyRights, ServerFailure>>;

    /// Checks that the group exists.
    fn find_group(&self, group: &str) -> impl Future<Output = Result<(), ServerFailure>>;
}
