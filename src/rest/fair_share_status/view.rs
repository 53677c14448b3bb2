//! The ranking of users, or the place of one user in it, as REST shows it.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::tiers::Ranking;
use crate::domain::decimal::ComputedNumber;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Owner, UserId};
use crate::domain::ranking::PlacedRow;
use crate::domain::time::Timestamp;
use crate::domain::weight::EffectiveWeight;
use crate::engine::group::snapshots::entitlements::Entitlement;
use crate::engine::group::snapshots::rows::UserShare;
use crate::engine::rank_memory::RanksByOwner;
use crate::service::VisibleGroup;
use crate::service::share_parts::ShareParts;
use crate::service::shares::UserPlace;

/// One user in one project.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "user_uuid": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "fair_share_factor": "0.949342117601", "rank": 1,
    "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f", "domain_name": "research", "effective_usage": "0.15",
    "effective_weight": "2", "user_name": "alice", "project_name": "climate", "nominal_share": "0.1",
    "nominal_share_of_parent": "0.5", "entitled_share": "0.25", "entitled_share_of_parent": "0.5"
}))]
pub struct UserStatus {
    pub user_uuid: Uuid,
    /// `2 ^ -(effective_usage / effective_weight)`, 0 to 1; under the schedulers of Slurm `FairShare` of `sshare`.
    #[schema(value_type = String)]
    pub fair_share_factor: ComputedNumber,
    /// 1 is first; equals share a rank (1, 2, 2, 4). `null` outside of the group.
    pub rank: Option<u32>,
    /// The rank that the last run of the day before left. Absent where that is not known, and where everybody is in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_rank: Option<u32>,
    pub project_id: Uuid,
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
    /// Decayed usage as a part of the window's capacity.
    #[schema(value_type = String)]
    pub effective_usage: ComputedNumber,
    /// Domain weight x project weight x own weight.
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    #[serde(flatten)]
    pub shares: ShareParts,
}

impl UserStatus {
    pub fn new(group: &VisibleGroup, row: &PlacedRow<UserShare>, previous_rank: Option<u32>) -> Self {
        Self {
            user_uuid: row.member.user.0,
            fair_share_factor: ComputedNumber(row.share.fair_share_factor),
            rank: row.place(),
            previous_rank,
            project_id: row.member.project.0,
            domain_name: Arc::clone(&row.domain_name),
            effective_usage: ComputedNumber(row.share.history.normalized_usage),
            effective_weight: row.share.effective_weight,
            user_name: row.user_name.clone(),
            project_name: row.project_name.clone(),
            shares: group.entitlement(&Owner::User(row.member)).into(),
        }
    }
}

/// One user's place: in one project, or in none yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlaceOfUser {
    pub user_uuid: Uuid,
    /// `2 ^ -(effective_usage / effective_weight)`, 0 to 1; under the schedulers of Slurm `FairShare` of `sshare`.
    #[schema(value_type = String)]
    pub fair_share_factor: ComputedNumber,
    /// 1 is first; equals share a rank (1, 2, 2, 4). `null` outside of the group.
    pub rank: Option<u32>,
    /// The rank that the last run of the day before left. Absent where that is not known, and where everybody is in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_rank: Option<u32>,
    /// `null`: the user was created ahead of the first project.
    pub project_id: Option<Uuid>,
    /// `null`: the user has no project yet.
    #[schema(value_type = Option<String>)]
    pub domain_name: Option<Arc<str>>,
    /// Decayed usage as a part of the window's capacity.
    #[schema(value_type = String)]
    pub effective_usage: ComputedNumber,
    /// Domain weight x project weight x own weight; the default weight stands for each that is not known.
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    #[serde(flatten)]
    pub shares: ShareParts,
}

impl PlaceOfUser {
    fn without_project(user: UserId, user_name: Option<Arc<str>>, share: &Share) -> Self {
        Self {
            user_uuid: user.0,
            fair_share_factor: ComputedNumber(share.fair_share_factor),
            rank: None,
            previous_rank: None,
            project_id: None,
            domain_name: None,
            effective_usage: ComputedNumber(share.history.normalized_usage),
            effective_weight: share.effective_weight,
            user_name,
            project_name: None,
            shares: Entitlement::default().into(),
        }
    }
}

impl From<UserStatus> for PlaceOfUser {
    fn from(row: UserStatus) -> Self {
        Self {
            user_uuid: row.user_uuid,
            fair_share_factor: row.fair_share_factor,
            rank: row.rank,
            previous_rank: row.previous_rank,
            project_id: Some(row.project_id),
            domain_name: Some(row.domain_name),
            effective_usage: row.effective_usage,
            effective_weight: row.effective_weight,
            user_name: row.user_name,
            project_name: row.project_name,
            shares: row.shares,
        }
    }
}

/// One user: the best-ranked project, or the one asked for; and all of them.
#[derive(Debug, Serialize, ToSchema)]
pub struct SingleUserStatus {
    #[serde(flatten)]
    pub place: PlaceOfUser,
    /// True if the ranking lists this row; otherwise the user is known, but has neither usage nor a weight in this
    /// project here.
    pub in_group: bool,
    /// The user's rows of the ranking, best rank first.
    pub memberships: Vec<UserStatus>,
    /// When factors and ranks were last calculated; `null`: never yet.
    pub calculated_at: Option<Timestamp>,
}

impl SingleUserStatus {
    pub fn new(
        group: &VisibleGroup,
        user: UserId,
        place: UserPlace,
        memberships: &[PlacedRow<UserShare>],
        before: &RanksByOwner,
    ) -> Self {
        let status =
            |row: &PlacedRow<UserShare>| UserStatus::new(group, row, before.get(&Owner::User(row.member)).copied());
        let (in_group, place) = match place {
            UserPlace::Row(row) => (row.place().is_some(), status(&row).into()),
            UserPlace::NoProject { user_name, share } => (false, PlaceOfUser::without_project(user, user_name, &share)),
        };
        let memberships = memberships.iter().map(status).collect();
        Self { place, in_group, memberships, calculated_at: group.calculated_at() }
    }
}

/// The ranking, or one user's place in it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum FairShareStatus {
    Ranking(Ranking<UserStatus>),
    User(Box<SingleUserStatus>),
}
