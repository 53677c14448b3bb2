//! Rows of a history in requests, and their checks.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::names::{UNKNOWN_DOMAIN, check_charge_class, check_display_name};
use crate::domain::slots::SlotUsages;
use crate::domain::time::Day;
use crate::engine::ingest::incoming::OwnerNames;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::Fault;

/// The usage of one user in one project on one day.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "day": "2023-01-05", "user": "alice", "project": "climate", "domain_name": "research",
    "resource_usage": {"cpu": "86400"}, "jobs": 3
}))]
pub struct HistoryInput {
    /// Before today, in UTC.
    #[schema(value_type = String, format = Date)]
    pub day: Day,
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// Shown beside the UUID where the user has no name.
    pub user_name: Option<String>,
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    pub project_name: Option<String>,
    /// Where it is left out, the usage counts for the domain of the project, or for `unknown` until one is named.
    pub domain_name: Option<String>,
    /// The class by which the usage is reported, besides owner and domain: a name of at most 64 characters; empty by default.
    #[serde(default)]
    pub charge_class: String,
    /// Slot-seconds.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// How many jobs that were.
    #[serde(default)]
    pub jobs: u32,
}

/// A checked row.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    pub day: Day,
    pub owner: Member,
    pub user: OwnerNames,
    pub project: OwnerNames,
    pub domain: Arc<str>,
    /// Empty: none.
    pub charge_class: Arc<str>,
    pub usage: SlotUsages,
    pub jobs: u64,
}

impl HistoryInput {
    /// Checks the row. Pointers in faults are below `pointer`.
    pub fn check(self, people: &PeopleDirectory, today: Day, pointer: &str) -> Result<HistoryRow, Vec<Fault>> {
        let mut faults = Vec::new();
        if self.day >= today {
            faults.push(Fault::about("/day", "in_future", format!("is not before today, which in UTC is {today}")));
        }
        if let Some(Err(error)) = self.domain_name.as_deref().map(|name| people.check_domain_name(name)) {
            faults.push(Fault::about("/domain_name", "invalid_name", error));
        }
        if let Err(error) = check_charge_class(&self.charge_class) {
            faults.push(Fault::about("/charge_class", "invalid_name", error));
        }
        for (place, name) in [("/user_name", &self.user_name), ("/project_name", &self.project_name)] {
            if let Some(Err(error)) = name.as_deref().map(check_display_name) {
                faults.push(Fault::about(place, "invalid_name", error));
            }
        }
        let user =
            lookup::user(people, self.user_uuid.map(UserId), self.user.as_deref()).map_err(|fault| faults.push(fault));
        let project = lookup::project(people, self.project_id.map(ProjectId), self.project.as_deref());
        let project = project.map_err(|fault| faults.push(fault));
        let (Ok(user), Ok(project), true) = (user, project, faults.is_empty()) else {
            let below = |fault: Fault| Fault { pointer: format!("{pointer}{}", fault.pointer), ..fault };
            return Err(faults.into_iter().map(below).collect());
        };
        Ok(HistoryRow {
            day: self.day,
            owner: Member { user, project },
            user: OwnerNames { name: lookup::name_given_to(user.0, self.user), display_name: self.user_name },
            project: OwnerNames {
                name: lookup::name_given_to(project.0, self.project),
                display_name: self.project_name,
            },
            domain: Arc::from(self.domain_name.as_deref().unwrap_or(UNKNOWN_DOMAIN)),
            charge_class: Arc::from(self.charge_class),
            usage: self.resource_usage.filtered(|usage| !usage.is_zero()),
            jobs: u64::from(self.jobs.max(1)),
        })
    }
}
