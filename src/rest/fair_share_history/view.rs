//! The shares of a domain, project or user after the last run of a day, as REST shows them.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::decimal::f64_text;
use crate::domain::ids::Owner;
use crate::domain::tier::Tier;
use crate::domain::time::Day;
use crate::engine::people::PeopleDirectory;
use crate::rest::owner::ProjectAndUser;
use crate::service::share_history::ShareDay;

/// The share of a domain, project or user after the last run of a day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "day": "2026-01-13", "tier": "user", "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "user_name": "alice",
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "project_name": "climate", "rank": 3,
    "fair_share_factor": "0.949342117601", "effective_usage": "0.15", "effective_weight": "2", "entitled_share": "0.25",
    "entitled_share_of_parent": "0.5"
}))]
pub struct ShareDayView {
    #[schema(value_type = String, format = Date)]
    pub day: Day,
    pub tier: Tier,
    /// For domains only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub domain_name: Option<Arc<str>>,
    #[serde(flatten)]
    pub of: ProjectAndUser,
    /// 1 is first; equals share a rank.
    pub rank: u32,
    pub fair_share_factor: String,
    /// Decayed usage as a part of the window's capacity.
    pub effective_usage: String,
    pub effective_weight: String,
    /// The part of the whole group, by weight among those that were active.
    pub entitled_share: String,
    /// The part of the parent's share, likewise; `null` for days that an earlier version wrote.
    pub entitled_share_of_parent: Option<String>,
}

impl ShareDayView {
    pub fn new(people: &PeopleDirectory, row: ShareDay) -> Self {
        let (tier, domain_name, project, user) = match row.owner {
            Owner::Domain(name) => (Tier::Domain, Some(name), None, None),
            Owner::Project(id) => (Tier::Project, None, Some(id), None),
            Owner::User(member) => (Tier::User, None, Some(member.project), Some(member.user)),
        };
        Self {
            day: row.day,
            tier,
            domain_name,
            of: ProjectAndUser {
                project_id: project.map(|id| id.0),
                project_name: project.and_then(|id| people.project_name(id)),
                user_uuid: user.map(|id| id.0),
                user_name: user.and_then(|id| people.user_name(id)),
            },
            rank: row.rank,
            fair_share_factor: f64_text(row.fair_share_factor),
            effective_usage: f64_text(row.normalized_usage),
            effective_weight: row.effective_weight,
            entitled_share: f64_text(row.entitled_share),
            entitled_share_of_parent: row.entitled_share_of_parent.map(f64_text),
        }
    }
}
