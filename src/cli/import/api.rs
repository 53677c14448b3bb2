//! The requests of an import to the REST API.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::domain_map::DomainMap;
use super::earlier_rows::EarlierRows;
use crate::api::agents::MAX_AGENTS;
use crate::cli::client::{ApiClient, ClientFailure};
use crate::cli::failure::CommandFailure;
use crate::cli::list::EndpointList;
use crate::domain::ids::{KernelId, ProjectId, SessionId};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{Day, Timestamp};
use crate::rest::capacity_days::view::{CapacityDay, MAX_DAYS};
use crate::rest::kernels::lookup::MAX_IDS;

type Result<T> = std::result::Result<T, CommandFailure>;

/// The endpoints that an import uses.
pub(super) struct ImportApi(pub ApiClient);

/// A kernel as the server returns it.
#[derive(Clone, Debug, Deserialize)]
pub struct ServerKernel {
    #[serde(rename = "kernel_id")]
    pub id: KernelId,
    #[serde(rename = "session_id")]
    pub session: SessionId,
    pub started_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    pub status: String,
    /// The other keys, which are sent back unchanged.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl ServerKernel {
    pub fn runs(&self) -> bool {
        self.status == "RUNNING"
    }

    /// The report that the kernel ended, not before its start.
    pub fn ended_at(&self, end: Option<Timestamp>) -> Value {
        let mut row = self.rest.clone();
        // Names are known already, and a display name must not be stored as a new one.
        row.retain(|key, _| key != "user_name" && key != "project_name");
        let mut row = Value::Object(row);
        row["kernel_id"] = json!(self.id);
        row["session_id"] = json!(self.session);
        row["started_at"] = json!(self.started_at);
        row["terminated_at"] = json!(end.max(self.started_at));
        row["status"] = json!("TERMINATED");
        row
    }
}

/// The result of reporting rows.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ReportResult {
    pub changed: u64,
    /// The number of rejected rows for each code.
    #[serde(default)]
    pub rejected_codes: BTreeMap<String, u64>,
    /// The reasons why rows were rejected; if there are very many, only of the first rows.
    pub errors: Vec<RejectedLines>,
    pub earlier: Option<EarlierRows>,
    #[serde(default)]
    pub warnings: Vec<WarnedRows>,
}

/// Rows that were taken in another way than they say.
#[derive(Debug, Deserialize)]
pub(super) struct WarnedRows {
    pub detail: String,
    pub project_name: Option<String>,
    #[serde(rename = "kernels")]
    pub rows: u64,
}

/// The result of adding rows to a history.
#[derive(Debug, Deserialize)]
pub(super) struct HistoryResult {
    pub stored: u64,
    pub left_out: u64,
    #[serde(default)]
    pub left_out_days: BTreeSet<Day>,
}

/// Rows that were rejected for the same reason.
#[derive(Debug, Deserialize)]
pub(super) struct RejectedLines {
    /// The line of the first row, from 1 on.
    line: u64,
    errors: Vec<AnswerBody>,
    /// All rows that the answer lists, if there are several.
    #[serde(default)]
    rows: Vec<RejectedLine>,
}

#[derive(Debug, Deserialize)]
struct RejectedLine {
    /// From 1 on.
    line: u64,
}

#[derive(Debug, Deserialize)]
struct AnswerBody {
    code: String,
    detail: String,
}

impl RejectedLines {
    /// The indices of the rows, from 0 on.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        let first = self.rows.is_empty().then_some(self.line);
        let lines = first.into_iter().chain(self.rows.iter().map(|row| row.line));
        lines.map(|line| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX))
    }

    pub fn code(&self) -> &str {
        self.errors.first().map_or("refused", |said| &said.code)
    }

    pub fn first_reason(&self) -> &str {
        self.errors.first().map_or("refused", |said| &said.detail)
    }
}

/// A project as the server returns it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ProjectRow {
    #[serde(rename = "project_id")]
    pub id: ProjectId,
    name: Option<String>,
    display_name: Option<String>,
    pub domain_name: String,
}

impl ProjectRow {
    /// The name that a file uses for the project.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().or(self.display_name.as_deref())
    }

    pub fn is_called(&self, project: &str) -> bool {
        self.name() == Some(project)
    }

    /// The domain of the project in the map, unless it is the placeholder.
    pub fn domain_in<'m>(&self, map: &'m DomainMap) -> Option<&'m String> {
        map.get(self.name()?).filter(|domain| *domain != UNKNOWN_DOMAIN)
    }
}

/// An agent as the server returns it and takes it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct AgentRow {
    pub agent_id: String,
    pub available_slots: SlotAmounts,
    pub alive: bool,
    pub schedulable: bool,
    pub labels: BTreeMap<String, String>,
}

impl ImportApi {
    /// The names of all resource groups.
    pub async fn groups(&self) -> Result<HashSet<String>> {
        let rows = EndpointList::of(self.0.get(["resource-groups"]), None).rows().await?;
        Ok(rows.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect())
    }

    /// Creates a group that is ordered by fair share. Returns true if it is new; another process may have created it
    /// meanwhile.
    pub async fn make_group(&self, name: &str) -> Result<bool> {
        Ok(self.0.put(["resource-groups", name]).json(&json!({}))?.send().await?.is_new())
    }

    /// The running kernels of the group.
    pub async fn running(&self, group: &str) -> Result<Vec<ServerKernel>> {
        let call = self.0.get(["resource-groups", group, "kernels"]).with("status", "RUNNING");
        EndpointList::of(call, None).read().await
    }

    /// The known kernels among `ids`.
    pub async fn known(&self, ids: &[KernelId]) -> Result<Vec<ServerKernel>> {
        let mut known = Vec::new();
        for ids in ids.chunks(MAX_IDS) {
            let call = self.0.post(["kernels", "lookup"]).json(&json!({"kernel_ids": ids}))?;
            known.extend(EndpointList::whole(call).read::<ServerKernel>().await?);
        }
        Ok(known)
    }

    /// Reports the kernels of `lines`, one on each line.
    pub async fn report(&self, group: &str, lines: Vec<u8>) -> Result<ReportResult> {
        let call = self.0.post(["resource-groups", group, "kernels"]).with("moves_projects", true);
        Ok(call.body("application/x-ndjson", lines).send().await?.json().await?)
    }

    /// Reports the kernels of `rows`.
    pub async fn report_rows(&self, group: &str, rows: &[Value]) -> Result<ReportResult> {
        if rows.is_empty() {
            return Ok(ReportResult::default());
        }
        let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
        self.report(group, lines.join("\n").into_bytes()).await
    }

    /// True if any capacity of the group is known, now or on past days. Without one no usage counts.
    pub async fn has_capacity(&self, group: &str) -> Result<bool> {
        let some = |capacity: &Value| capacity.as_object().is_some_and(|slots| slots.values().any(|a| a != "0"));
        let found: Value = self.0.get(["resource-groups", group]).send().await?.json().await?;
        if some(&found["capacity"]) {
            return Ok(true);
        }
        let days = EndpointList::of(self.0.get(["resource-groups", group, "capacity-days"]), None).rows().await?;
        Ok(days.iter().any(|day| some(&day["capacity"])))
    }

    /// Stores capacities of days. Returns the number of days that changed.
    pub async fn give_capacities(&self, group: &str, days: BTreeMap<Day, SlotAmounts>) -> Result<u64> {
        let days: Vec<CapacityDay> = days.into_iter().map(CapacityDay::from).collect();
        let mut changed = 0;
        for days in days.chunks(MAX_DAYS) {
            let call = self.0.put(["resource-groups", group, "capacity-days"]).json(&days)?;
            let given: Value = call.send().await?.json().await?;
            changed += given["changed"].as_u64().unwrap_or_default();
        }
        Ok(changed)
    }

    /// The server's finding about slots that kernels use and no agent has; `None` if the key may not ask for it.
    pub async fn lacking_slots(&self) -> Option<String> {
        let found: Value = self.0.get(["doctor"]).send().await.ok()?.json().await.ok()?;
        let mut rows = found["items"].as_array()?.iter();
        let slots = rows.find(|row| row["check"] == "slots" && row["status"] == "warning")?;
        slots["detail"].as_str().map(str::to_owned)
    }

    pub async fn agents(&self, group: &str) -> Result<Vec<AgentRow>> {
        EndpointList::of(self.0.get(["resource-groups", group, "agents"]), None).read().await
    }

    pub async fn put_agents(&self, group: &str, agents: &[AgentRow]) -> Result<()> {
        for agents in agents.chunks(MAX_AGENTS) {
            self.0.put(["resource-groups", group, "agents"]).json(&json!({"agents": agents}))?.send().await?;
        }
        Ok(())
    }

    /// All projects.
    pub async fn projects(&self) -> Result<Vec<ProjectRow>> {
        EndpointList::of(self.0.get(["projects"]), None).read().await
    }

    /// The projects of a domain.
    pub async fn projects_in(&self, domain: &str) -> Result<Vec<ProjectRow>> {
        EndpointList::of(self.0.get(["projects"]).with("domain_name", domain), None).read().await
    }

    /// Puts a project into a domain. Reports may move it again.
    pub async fn place_project(&self, project: &ProjectRow, domain: &str) -> Result<()> {
        let body = json!({"domain_name": domain, "domain_pinned": false, "reason": "the domain map of an import"});
        self.0.put(["projects", &project.id.to_string()]).json(&body)?.send().await?;
        Ok(())
    }

    /// The names of the histories of the group.
    pub async fn histories(&self, group: &str) -> Result<Vec<String>> {
        let rows = EndpointList::of(self.0.get(["resource-groups", group, "usage-histories"]), None).rows().await?;
        Ok(rows.iter().filter_map(|row| row["source"].as_str().map(str::to_owned)).collect())
    }

    /// The state of the group's history with that name: true if it is complete; `None` if it does not exist.
    pub async fn history(&self, group: &str, source: &str) -> Result<Option<bool>> {
        let rows = EndpointList::of(self.0.get(["resource-groups", group, "usage-histories"]), None).rows().await?;
        Ok(rows.iter().find(|row| row["source"] == source).map(|row| row["complete"] == true))
    }

    /// Adds rows to a history.
    pub async fn put_history(&self, group: &str, source: &str, body: &Value) -> Result<HistoryResult> {
        Ok(self.0.put(["resource-groups", group, "usage-histories", source]).json(body)?.send().await?.json().await?)
    }

    pub async fn delete_history(&self, group: &str, source: &str) -> Result<()> {
        self.0.delete(["resource-groups", group, "usage-histories", source]).send().await?;
        Ok(())
    }

    /// Records the usage of the group. Returns the number of new slices; `None` if a run was in progress, so that the
    /// next one records it.
    pub async fn aggregate(&self, group: &str) -> Result<Option<u64>> {
        let call = self.0.post(["jobs", "aggregate", "run"]).json(&json!({"resource_group": group}))?;
        let runs: Value = match call.send().await {
            Err(ClientFailure::Refused(refusal)) if ["job_running", "job_waiting"].contains(&refusal.code()) => {
                return Ok(None);
            }
            runs => runs?.json().await?,
        };
        let run = &runs["items"][0];
        match run["error"].as_str() {
            Some(error) => Err(CommandFailure::Failed(format!("the job aggregate failed: {error}"))),
            None => Ok(run["counts"]["slices_created"].as_u64()),
        }
    }
}
