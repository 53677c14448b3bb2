//! The facts about everything that can be chosen or set: those of the rules, with the jobs, the roles of keys and the sessions of
//! the web pages.

use serde::Serialize;
use utoipa::ToSchema;

use super::Role;
use super::fairness::window::ReportWindow;
use super::jobs::{JobControl, JobDefinition, JobScope};
use super::keys::sessions::SESSION_SECONDS;
use crate::domain::choices::NamedChoice;
use crate::domain::metadata::RuleFacts;
use crate::engine::audit::ACTIONS;

/// A job of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "name": "compact", "summary": "joins usage records of days that ended some days ago (the setting raw_days); no usage changes",
    "scope": "group", "schedule": "0 0 * * * *"
}))]
pub struct JobFacts {
    pub name: &'static str,
    pub summary: &'static str,
    pub scope: JobScope,
    /// The cron expression in UTC by which the job starts by itself; null: it runs only on request.
    pub schedule: Option<String>,
}

/// Everything that can be chosen or set, with its ranges, defaults and sentences. It is made from the same tables as the checks.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ServerMetadata {
    #[serde(flatten)]
    pub rules: RuleFacts,
    /// The jobs of the server.
    pub jobs: Vec<JobFacts>,
    /// The roles that a key can have.
    pub roles: Vec<NamedChoice>,
    /// The actions of the audit log, each in a word or two.
    pub audit_actions: Vec<NamedChoice>,
    /// The windows of fairness that end now, from short to long.
    #[schema(example = json!(["now", "1h", "1d", "7d", "28d"]))]
    pub fairness_windows: Vec<String>,
    /// The time for which a person who signs in on the web pages stays signed in, in seconds.
    #[schema(example = 43200)]
    pub session_seconds: i64,
}

impl ServerMetadata {
    /// The facts, which are the same for every caller.
    pub fn collect(jobs: &dyn JobControl) -> Self {
        let job = |JobDefinition { name, description, scope, schedule }| JobFacts {
            name,
            summary: description,
            scope,
            schedule,
        };
        Self {
            rules: RuleFacts::collect(),
            jobs: jobs.jobs().into_iter().map(job).collect(),
            roles: Role::ALL
                .into_iter()
                .map(|role| NamedChoice { name: role.as_str(), summary: role.summary() })
                .collect(),
            audit_actions: ACTIONS.to_vec(),
            fairness_windows: ReportWindow::names(),
            session_seconds: SESSION_SECONDS,
        }
    }
}
