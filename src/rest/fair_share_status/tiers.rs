//! Domains and projects in their rankings.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::decimal::f64_text;
use crate::domain::weight::EffectiveWeight;
use crate::service::group::published::rows::{DomainShare, ProjectShare};

/// One domain.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "domain_name": "research", "rank": 1, "fair_share_factor": "0.949342117601", "effective_usage": "0.15",
    "effective_weight": "2"
}))]
pub struct DomainStatus {
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
    /// 1 is first; equals share a rank.
    pub rank: Option<u32>,
    pub fair_share_factor: String,
    /// Decayed usage as a part of the window's capacity.
    pub effective_usage: String,
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
}

impl From<DomainShare> for DomainStatus {
    fn from(DomainShare { domain_name, share, .. }: DomainShare) -> Self {
        Self {
            domain_name,
            rank: share.place(),
            fair_share_factor: f64_text(share.fair_share_factor),
            effective_usage: f64_text(share.history.normalized_usage),
            effective_weight: share.effective_weight,
        }
    }
}

/// One project.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "project_name": "climate", "domain_name": "research", "rank": 1,
    "fair_share_factor": "0.949342117601", "effective_usage": "0.15", "effective_weight": "2"
}))]
pub struct ProjectStatus {
    pub project_id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
    /// 1 is first among the projects of the domain; equals share a rank.
    pub rank: Option<u32>,
    pub fair_share_factor: String,
    /// Decayed usage as a part of the window's capacity.
    pub effective_usage: String,
    /// Domain weight x project weight.
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
}

impl From<ProjectShare> for ProjectStatus {
    fn from(ProjectShare { project_id, project_name, domain_name, share, .. }: ProjectShare) -> Self {
        Self {
            project_id: project_id.0,
            project_name,
            domain_name,
            rank: share.place(),
            fair_share_factor: f64_text(share.fair_share_factor),
            effective_usage: f64_text(share.history.normalized_usage),
            effective_weight: share.effective_weight,
        }
    }
}
