//! Fairness as REST shows it: that of a window with its rows, and that of single days.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::decimal::{f64_text, signed_text};
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};
use crate::rest::list::List;
use crate::rest::owner::ProjectAndUser;
use crate::service::fairness::days::FairnessDay;
use crate::service::fairness::report::{FairnessRow, ReportedOwner, TierFairness};

/// The usage of a domain, project or user in the window, beside the share that it is entitled to.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "domain_name": "research", "used_share": "0.6", "used_share_of_parent": "0.6", "entitled_share": "0.5",
    "entitled_share_of_parent": "0.5", "ratio": "1.2", "error": "0.1", "demand_limited": false
}))]
pub struct FairnessEntry {
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
    #[serde(flatten)]
    pub of: ProjectAndUser,
    /// The part of the usage of the whole group, 0 to 1.
    pub used_share: String,
    /// The part of the parent's usage.
    pub used_share_of_parent: String,
    /// The entitled part of the usage of the whole group, by weight among those that are active; shares that some did
    /// not ask for go to their siblings.
    pub entitled_share: String,
    /// The part of the share that the parent is entitled to.
    pub entitled_share_of_parent: String,
    /// `used_share / entitled_share`.
    pub ratio: String,
    /// `used_share - entitled_share`.
    pub error: String,
    /// True if it asked for less than its weight would give.
    pub demand_limited: bool,
}

impl From<FairnessRow> for FairnessEntry {
    fn from(FairnessRow { who, received }: FairnessRow) -> Self {
        let (domain_name, of) = match who {
            ReportedOwner::Domain(row) => (Arc::clone(&row.domain_name), ProjectAndUser::default()),
            ReportedOwner::Project(row) => {
                let (project_id, project_name) = (Some(row.project_id.0), row.project_name.clone());
                (Arc::clone(&row.domain_name), ProjectAndUser { project_id, project_name, ..Default::default() })
            }
            ReportedOwner::User(row) => {
                let of = ProjectAndUser {
                    project_id: Some(row.member.project.0),
                    project_name: row.project_name.clone(),
                    user_uuid: Some(row.member.user.0),
                    user_name: row.user_name.clone(),
                };
                (Arc::clone(&row.domain_name), of)
            }
        };
        Self {
            domain_name,
            of,
            used_share: f64_text(received.used_share),
            used_share_of_parent: f64_text(received.used_share_of_parent),
            entitled_share: f64_text(received.entitled_share),
            entitled_share_of_parent: f64_text(received.entitled_share_of_parent),
            ratio: f64_text(received.ratio),
            error: signed_text(received.error),
            demand_limited: received.demand_limited,
        }
    }
}

/// The time that was looked at.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct SpanView {
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
}

/// How fair one tier was.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "resource_group": "gpu-cluster", "tier": "domain",
    "window": {"from": "2026-01-07T00:00:00Z", "to": "2026-01-13T12:00:00Z"}, "misallocated_share": "0.1",
    "jains_index": "0.961538461538", "active": 2,
    "most_over_served": {
        "domain_name": "research", "used_share": "0.6", "used_share_of_parent": "0.6", "entitled_share": "0.5",
        "entitled_share_of_parent": "0.5", "ratio": "1.2", "error": "0.1", "demand_limited": false
    },
    "most_under_served": {
        "domain_name": "industry", "used_share": "0.4", "used_share_of_parent": "0.4", "entitled_share": "0.5",
        "entitled_share_of_parent": "0.5", "ratio": "0.8", "error": "-0.1", "demand_limited": false
    },
    "items": [
        {
            "domain_name": "industry", "used_share": "0.4", "used_share_of_parent": "0.4", "entitled_share": "0.5",
            "entitled_share_of_parent": "0.5", "ratio": "0.8", "error": "-0.1", "demand_limited": false
        },
        {
            "domain_name": "research", "used_share": "0.6", "used_share_of_parent": "0.6", "entitled_share": "0.5",
            "entitled_share_of_parent": "0.5", "ratio": "1.2", "error": "0.1", "demand_limited": false
        }
    ],
    "total": 2
}))]
pub struct FairnessView {
    pub resource_group: String,
    pub tier: Tier,
    pub window: SpanView,
    /// Which part of what was used is in the wrong hands: half of the sum of the errors without their signs, 0 to 1.
    pub misallocated_share: String,
    /// Jain's index of the ratios: 1 if all are equal, 1/n if one of n has everything. 0 where no owner was active.
    pub jains_index: String,
    /// How many used something, or hold or ask for something now.
    pub active: usize,
    /// The owner that received the most beyond its share; `null`: no owner did, or the key may not see others.
    pub most_over_served: Option<FairnessEntry>,
    /// The owner that received the least of its share, likewise.
    pub most_under_served: Option<FairnessEntry>,
    /// The most under-served first. A key of role `user` sees the rows of its user.
    #[serde(flatten)]
    pub list: List<FairnessEntry>,
}

impl FairnessView {
    pub fn new(of: &TierFairness, list: List<FairnessEntry>) -> Self {
        Self {
            resource_group: of.group.name.to_string(),
            tier: of.tier,
            window: SpanView { from: of.span.start, to: of.span.end },
            misallocated_share: f64_text(of.report.misallocated_share),
            jains_index: f64_text(of.report.jains_index),
            active: of.report.entities.len(),
            most_over_served: of.most_over_served().cloned().map(FairnessEntry::from),
            most_under_served: of.most_under_served().cloned().map(FairnessEntry::from),
            list,
        }
    }
}

/// How fair one tier was on one day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "day": "2026-01-13", "tier": "domain", "misallocated_share": "0.031", "jains_index": "0.984", "active": 4,
    "calculated_at": "2026-01-14T00:00:00Z"
}))]
pub struct FairnessDayView {
    #[schema(value_type = String, format = Date)]
    pub day: Day,
    pub tier: Tier,
    pub misallocated_share: String,
    pub jains_index: String,
    pub active: u32,
    #[schema(value_type = String, format = DateTime)]
    pub calculated_at: Timestamp,
}

impl From<FairnessDay> for FairnessDayView {
    fn from(row: FairnessDay) -> Self {
        Self {
            day: row.day,
            tier: row.tier,
            misallocated_share: f64_text(row.misallocated_share),
            jains_index: f64_text(row.jains_index),
            active: row.active,
            calculated_at: row.calculated_at,
        }
    }
}
