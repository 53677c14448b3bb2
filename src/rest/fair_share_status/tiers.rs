//! The rankings of domains and projects, and the fields that all rankings have in common.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::decimal::ComputedNumber;
use crate::domain::filter::Filter;
use crate::domain::ids::Owner;
use crate::domain::ranking::PlacedRow;
use crate::domain::time::Timestamp;
use crate::domain::weight::EffectiveWeight;
use crate::engine::group::snapshots::rows::{DomainShare, ProjectShare};
use crate::engine::rank_memory::RanksByOwner;
use crate::rest::list::{List, ListCursor};
use crate::rest::problem::Result;
use crate::service::input::page::Page;
use crate::service::share_parts::ShareParts;
use crate::service::shares::{ShareField, ShareList, share_list_name};
use crate::service::{self, Service, VisibleGroup};

/// Rows of a ranking, and how old their figures are.
#[derive(Debug, Serialize, ToSchema)]
pub struct Ranking<T> {
    #[serde(flatten)]
    pub list: List<T>,
    /// When factors and ranks were last calculated; `null`: never yet.
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-01-13T10:05:00Z")]
    pub calculated_at: Option<Timestamp>,
}

impl<T> Ranking<T> {
    pub fn new(group: &VisibleGroup, list: List<T>) -> Self {
        Self { list, calculated_at: group.calculated_at() }
    }
}

/// One page of the ranking of a tier. `rows` makes the page of the group as the caller may see it, and looks at
/// `row_count` rows.
pub async fn page<V: Send>(
    service: &Service,
    group: &VisibleGroup,
    (tier, row_count): (&str, usize),
    (limit, cursor): (Option<i64>, Option<&str>),
    rows: impl FnOnce(&ShareList) -> service::Result<Page<V>> + Send,
) -> Result<List<V>> {
    let list = ListCursor::new(share_list_name(tier, ShareField::Rank, false), &*group.name);
    let window = list.window(limit, cursor)?;
    let wanted = ShareList { filter: Filter::everything(), field: ShareField::Rank, descending: false, window };
    let rows = service.permits.scan(group.access().client(), row_count, || rows(&wanted)).await?;
    Ok(list.answer(rows))
}

/// One domain.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "domain_name": "research", "rank": 1, "previous_rank": 2, "fair_share_factor": "0.949342117601", "effective_usage": "0.15",
    "effective_weight": "2", "nominal_share": "0.4", "nominal_share_of_parent": "0.4", "entitled_share": "0.5",
    "entitled_share_of_parent": "0.5"
}))]
pub struct DomainStatus {
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
    /// 1 is first; equals share a rank.
    pub rank: Option<u32>,
    /// The rank that the last run of the day before left; `null`: that is not known.
    pub previous_rank: Option<u32>,
    #[schema(value_type = String)]
    pub fair_share_factor: ComputedNumber,
    /// Decayed usage as a part of the window's capacity.
    #[schema(value_type = String)]
    pub effective_usage: ComputedNumber,
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    #[serde(flatten)]
    pub shares: ShareParts,
}

impl DomainStatus {
    pub fn new(group: &VisibleGroup, row: &PlacedRow<DomainShare>, before: &RanksByOwner) -> Self {
        let domain_name = Arc::clone(&row.domain_name);
        let owner = Owner::Domain(Arc::clone(&domain_name));
        let (previous_rank, shares) = (before.get(&owner).copied(), group.entitlement(&owner).into());
        Self {
            domain_name,
            rank: row.place(),
            previous_rank,
            fair_share_factor: ComputedNumber(row.share.fair_share_factor),
            effective_usage: ComputedNumber(row.share.history.normalized_usage),
            effective_weight: row.share.effective_weight,
            shares,
        }
    }
}

/// One project.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "project_name": "climate", "domain_name": "research", "rank": 1, "previous_rank": null,
    "fair_share_factor": "0.949342117601", "effective_usage": "0.15", "effective_weight": "2", "nominal_share": "0.2",
    "nominal_share_of_parent": "0.5", "entitled_share": "0.5", "entitled_share_of_parent": "1"
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
    /// The rank that the last run of the day before left; `null`: that is not known.
    pub previous_rank: Option<u32>,
    #[schema(value_type = String)]
    pub fair_share_factor: ComputedNumber,
    /// Decayed usage as a part of the window's capacity.
    #[schema(value_type = String)]
    pub effective_usage: ComputedNumber,
    /// Domain weight x project weight.
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    #[serde(flatten)]
    pub shares: ShareParts,
}

impl ProjectStatus {
    pub fn new(group: &VisibleGroup, row: &PlacedRow<ProjectShare>, before: &RanksByOwner) -> Self {
        Self {
            project_id: row.project_id.0,
            project_name: row.project_name.clone(),
            domain_name: Arc::clone(&row.domain_name),
            rank: row.place(),
            previous_rank: before.get(&Owner::Project(row.project_id)).copied(),
            fair_share_factor: ComputedNumber(row.share.fair_share_factor),
            effective_usage: ComputedNumber(row.share.history.normalized_usage),
            effective_weight: row.share.effective_weight,
            shares: group.entitlement(&Owner::Project(row.project_id)).into(),
        }
    }
}
