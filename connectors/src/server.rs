//! The requests of a connector to the server.

use std::future::Future;

use api::agents::AgentReport;
use api::group_facts::GroupFacts;
use api::key_rights::KeyRights;
use api::people_tree::{PeopleTree, TreeAnswer};
use api::sequence::{OrderRequest, ServerOrder, WorkloadRow};
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

impl<'a> From<&'a EligibleWorkload> for WorkloadRow<'a> {
    fn from(workload: &'a EligibleWorkload) -> Self {
        let EligibleWorkload { workload_id, user, project, submitted_at, priority, requested_slots } = workload;
        Self { workload_id, user, project, submitted_at: *submitted_at, priority: *priority, requested_slots }
    }
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

    /// Finds the group, and reads the facts that its weights depend on.
    fn find_group(&self, group: &str) -> impl Future<Output = Result<GroupFacts, ServerFailure>>;

    /// Reads the tree of people of a group as it is.
    fn read_people_tree(&self, group: &str) -> impl Future<Output = Result<PeopleTree, ServerFailure>>;
}
