//! The requests of a connector over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use api::agents::{AgentReport, MAX_AGENTS};
use api::client::{ApiClient, ClientFailure};
use api::group_facts::GroupFacts;
use api::kernels::ReportAnswer;
use api::key_rights::KeyRights;
use api::people_tree::{PeopleTree, TreeAnswer};
use api::problem::ShownFault;
use api::sequence::{OrderRequest, ServerOrder};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::fault::RoundFault;
use super::server::{FairShareServer, ReportedRows, ServerFailure};

/// The longest times until a request is answered. A report of a day may be large, and the server checks all of its rows.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(2);
const REPORT_TIMEOUT: Duration = Duration::from_mins(10);

/// The code of rows that are older than the server keeps.
const TOO_OLD: &str = "too_old";

/// A server at an address. One that accepts a connection and does not answer counts as away, because otherwise a round, and a
/// connector that is to end, would wait for it without end.
pub struct ApiServer {
    client: ApiClient,
    request_timeout: Duration,
    report_timeout: Duration,
}

impl ApiServer {
    pub fn new(client: ApiClient) -> Self {
        Self { client, request_timeout: REQUEST_TIMEOUT, report_timeout: REPORT_TIMEOUT }
    }

    /// The same server with one limit for all requests.
    #[must_use]
    pub fn with_timeout(self, limit: Duration) -> Self {
        Self { request_timeout: limit, report_timeout: limit, ..self }
    }
}

/// The answer of a request, if it comes within the limit.
async fn within<T>(
    limit: Duration,
    request: impl Future<Output = Result<T, ClientFailure>>,
) -> Result<T, ServerFailure> {
    match timeout(limit, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(ServerFailure::Away(format!("the server did not answer within {} seconds", limit.as_secs()))),
    }
}

impl From<ClientFailure> for ServerFailure {
    fn from(failure: ClientFailure) -> Self {
        match failure {
            ClientFailure::Refused(refusal) if !refusal.may_pass_soon() => {
                Self::Refused { code: refusal.code().to_owned(), detail: refusal.to_string() }
            }
            other => Self::Away(other.to_string()),
        }
    }
}

/// The rows of the answer to a report.
fn reported_rows(answer: ReportAnswer) -> ReportedRows {
    let mut reasons: BTreeMap<String, RoundFault> = BTreeMap::new();
    for fault in answer.errors.into_iter().filter_map(|item| item.errors.into_iter().next()) {
        let ShownFault { code, detail, .. } = fault;
        reasons.entry(code.clone()).or_insert_with(|| RoundFault { code, detail });
    }
    ReportedRows {
        rejected: answer.rejected_codes.values().sum(),
        too_old: answer.rejected_codes.get(TOO_OLD).copied().unwrap_or_default(),
        reasons: reasons.into_values().collect(),
    }
}

impl FairShareServer for ApiServer {
    async fn report_kernels(&self, group: &str, lines: Vec<u8>) -> Result<ReportedRows, ServerFailure> {
        let call = self.client.post(["resource-groups", group, "kernels"]).with("moves_projects", true);
        let call = call.body("application/x-ndjson", lines);
        let answer = within(self.report_timeout, async { call.send().await?.json::<ReportAnswer>().await });
        Ok(reported_rows(answer.await?))
    }

    async fn order_workloads(&self, group: &str, request: &OrderRequest<'_>) -> Result<ServerOrder, ServerFailure> {
        let call = self.client.post(["resource-groups", group, "sequence"]).json(request)?;
        within(self.request_timeout, async { call.send().await?.json().await }).await
    }

    async fn put_agents(&self, group: &str, agents: &[AgentReport]) -> Result<(), ServerFailure> {
        for agents in agents.chunks(MAX_AGENTS) {
            let call = self.client.put(["resource-groups", group, "agents"]).json(&json!({"agents": agents}))?;
            within(self.request_timeout, call.send()).await?;
        }
        Ok(())
    }

    async fn put_people_tree(&self, tree: &PeopleTree) -> Result<TreeAnswer, ServerFailure> {
        let call = self.client.put(["people-tree"]).json(tree)?;
        within(self.request_timeout, async { call.send().await?.json().await }).await
    }

    async fn put_status(&self, cluster: &str, status: &Value) -> Result<(), ServerFailure> {
        let call = self.client.put(["connectors", cluster]).json(status)?;
        within(self.request_timeout, call.send()).await?;
        Ok(())
    }

    async fn key_rights(&self) -> Result<KeyRights, ServerFailure> {
        let rights = async {
            let answer = self.client.get(["whoami"]).send().await?;
            let answered_at = answer.server_time();
            Ok(KeyRights { answered_at, ..answer.json().await? })
        };
        within(self.request_timeout, rights).await
    }

    async fn find_group(&self, group: &str) -> Result<GroupFacts, ServerFailure> {
        let call = self.client.get(["resource-groups", group]);
        within(self.request_timeout, async { call.send().await?.json().await }).await
    }

    async fn read_people_tree(&self, group: &str) -> Result<PeopleTree, ServerFailure> {
        let call = self.client.get(["people-tree"]).with("resource_group", group);
        within(self.request_timeout, async { call.send().await?.json().await }).await
    }
}
