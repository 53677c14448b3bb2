//! The requests of a connector, over the HTTP client of the commands.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::client::ApiClient;
use crate::cli::failure::CommandFailure;
use crate::connectors::fault::RoundFault;
use crate::connectors::server::{
    AgentReport, FairShareServer, KeyRights, OrderRequest, ReportedRows, ServerFailure, ServerOrder,
};
use crate::domain::time::Timestamp;
use crate::service::agents::MAX_AGENTS;

/// A server at an address.
pub struct ApiServer(pub ApiClient);

impl From<CommandFailure> for ServerFailure {
    fn from(failure: CommandFailure) -> Self {
        match failure {
            CommandFailure::Refused(refusal) if !refusal.may_pass_soon() => {
                Self::Refused { code: refusal.code().to_owned(), detail: refusal.to_string() }
            }
            other => Self::Away(other.to_string()),
        }
    }
}

/// The answer of an ingest.
#[derive(Deserialize)]
struct IngestAnswer {
    #[serde(default)]
    rejected_codes: BTreeMap<String, u64>,
    #[serde(default)]
    errors: Vec<RejectedItem>,
}

#[derive(Deserialize)]
struct RejectedItem {
    errors: Vec<RowFault>,
}

#[derive(Deserialize)]
struct RowFault {
    code: String,
    detail: String,
}

impl IngestAnswer {
    fn rows(self) -> ReportedRows {
        let mut reasons: BTreeMap<String, RoundFault> = BTreeMap::new();
        for fault in self.errors.into_iter().filter_map(|item| item.errors.into_iter().next()) {
            let RowFault { code, detail } = fault;
            reasons.entry(code.clone()).or_insert_with(|| RoundFault { code, detail });
        }
        ReportedRows { rejected: self.rejected_codes.values().sum(), reasons: reasons.into_values().collect() }
    }
}

impl FairShareServer for ApiServer {
    async fn report_kernels(&self, group: &str, lines: Vec<u8>) -> Result<ReportedRows, ServerFailure> {
        let call = self.0.post(["resource-groups", group, "kernels"]).with("moves_projects", true);
        let answer = call.body("application/x-ndjson", lines).send().await?;
        Ok(answer.json::<IngestAnswer>().await?.rows())
    }

    async fn order_workloads(&self, group: &str, request: &OrderRequest<'_>) -> Result<ServerOrder, ServerFailure> {
        let call = self.0.post(["resource-groups", group, "sequence"]).json(request)?;
        Ok(call.send().await?.json().await?)
    }

    async fn put_agents(&self, group: &str, agents: &[AgentReport]) -> Result<(), ServerFailure> {
        for agents in agents.chunks(MAX_AGENTS) {
            let call = self.0.put(["resource-groups", group, "agents"]).json(&json!({"agents": agents}))?;
            call.send().await?;
        }
        Ok(())
    }

    async fn put_status(&self, cluster: &str, status: &Value) -> Result<(), ServerFailure> {
        self.0.put(["connectors", cluster]).json(status)?.send().await?;
        Ok(())
    }

    async fn key_rights(&self) -> Result<KeyRights, ServerFailure> {
        Ok(self.0.get(["whoami"]).send().await?.json().await?)
    }

    async fn find_group(&self, group: &str) -> Result<(), ServerFailure> {
        self.0.get(["resource-groups", group]).send().await?;
        Ok(())
    }

    async fn server_time(&self) -> Result<Option<Timestamp>, ServerFailure> {
        #[derive(Deserialize)]
        struct ServerChecks {
            checked_at: Timestamp,
        }
        match self.0.get(["doctor"]).send().await {
            Ok(answer) => Ok(Some(answer.json::<ServerChecks>().await?.checked_at)),
            // A key that may not ask for the checks may still connect.
            Err(CommandFailure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }
}
