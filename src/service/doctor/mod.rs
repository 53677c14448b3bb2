//! Checks of an installation, as far as the service can see it. Each check is one file.
//!
//! A check never changes anything. If a check cannot be made, its result says so, and the other checks are still made.
//! A new check is one file, listed here as a module and in [`CHECKS`].

mod agents;
mod archived;
mod capacity;
mod clock;
mod disk;
mod domains;
mod lookback;
mod mode;
mod options;
mod purge;
pub mod rights;
pub mod schema;
mod slots;
mod writes;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Caller, Result, Service};
use crate::api::input_warning::list_names;
use crate::engine::group::snapshots::GroupSnapshot;

/// The number of names that a sentence lists.
const MAX_NAMED: usize = 5;

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    NotChecked,
    /// A person should look at it.
    Warning,
    /// Something does not work, or counts wrong.
    Fault,
}

/// The finding of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "check": "capacity", "status": "warning", "detail": "gpu-cluster has no capacity: no usage counts there",
    "remedy": "report the agents, as with `fairshared agents set GROUP AGENT --slot cpu=64`"
}))]
pub struct CheckResult {
    pub check: &'static str,
    pub status: CheckStatus,
    /// The finding, in a sentence.
    pub detail: String,
    /// Advice in a sentence; `null`: there is nothing to do.
    pub remedy: Option<String>,
}

/// The finding of one check, without the check's name.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    status: CheckStatus,
    detail: String,
    remedy: Option<String>,
}

impl CheckOutcome {
    pub fn ok(detail: impl Into<String>) -> Self {
        Self { status: CheckStatus::Ok, detail: detail.into(), remedy: None }
    }

    pub fn not_checked(detail: impl Into<String>) -> Self {
        Self { status: CheckStatus::NotChecked, detail: detail.into(), remedy: None }
    }

    pub fn warning(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: CheckStatus::Warning, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    pub fn fault(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: CheckStatus::Fault, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    pub fn of(self, check: &'static str) -> CheckResult {
        let Self { status, detail, remedy } = self;
        CheckResult { check, status, detail, remedy }
    }
}

/// The subject of the checks: the service, and the groups that the caller's key reaches, by name.
struct CheckSubject<'a> {
    service: &'a Service,
    caller: &'a Caller,
    groups: Vec<Arc<GroupSnapshot>>,
}

impl CheckSubject<'_> {
    /// The names of the groups for which `is_doubtful` is true.
    fn names(&self, is_doubtful: impl Fn(&GroupSnapshot) -> bool) -> Vec<String> {
        self.groups.iter().filter(|group| is_doubtful(group)).map(|group| group.facts.name.to_string()).collect()
    }
}

trait Check: Sync {
    fn name(&self) -> &'static str;

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>>;
}

/// All checks, in the order of the answer.
const CHECKS: &[&dyn Check] = &[
    &schema::SchemaVersion,
    &rights::RightsCheck,
    &writes::WriteAvailability,
    &disk::DiskCheck,
    &clock::ServerClock,
    &capacity::CapacityCheck,
    &agents::AgentNamesCheck,
    &slots::SlotsCheck,
    &domains::DomainsCheck,
    &archived::ArchivedCheck,
    &mode::ModeCheck,
    &lookback::LookbackCheck,
    &options::GroupOptions,
    &purge::PurgeCheck,
];

/// The names of all checks, in the order of the answer.
pub fn check_names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name())
}

impl Service {
    /// Makes all checks. A key that is limited to groups gets the checks of those groups.
    #[tracing::instrument(name = "service.doctor.examine", level = "debug", skip_all, err(level = "debug"))]
    pub async fn examine(&self, caller: &Caller) -> Result<Vec<CheckResult>> {
        caller.require_reader()?;
        let mut groups = self.engine.published_groups();
        groups.retain(|group| caller.reaches(&group.facts.name));
        groups.sort_unstable_by(|a, b| a.facts.name.cmp(&b.facts.name));
        let subject = CheckSubject { service: self, caller, groups };
        let mut results = Vec::with_capacity(CHECKS.len());
        for check in CHECKS {
            let found = check.examine(&subject).await;
            results.push(found.unwrap_or_else(|error| CheckOutcome::not_checked(error.to_string())).of(check.name()));
        }
        Ok(results)
    }
}
