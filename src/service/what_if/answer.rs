//! The answer of a simulation: the changes of shares, the owners that gain or lose ranks, and the order of workloads.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api::input_warning::InputWarning;
use crate::domain::decimal::f64_text;
use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::options::SequenceMode;
use crate::domain::time::Timestamp;
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::engine::group::snapshots::entitlements::EntitledPart;
use crate::service::visible_group::VisibleGroup;

/// The state of a group with the changes, beside the present one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "config_revision": "17.5b0c77e2.3fa9c2d1", "calculated_at": "2026-01-13T10:05:00Z", "applied": null,
    "domains": {"changed": 1, "risen": 0, "fallen": 0, "items": [{
        "domain_name": "research",
        "before": {"weight": "1", "effective_weight": "1", "effective_usage": "0.15", "fair_share_factor": "0.901250463", "rank": 1,
            "entitled_share": "0.5", "entitled_share_of_parent": "0.5"},
        "after": {"weight": "2", "effective_weight": "2", "effective_usage": "0.15", "fair_share_factor": "0.949342117601", "rank": 1,
            "entitled_share": "0.666666666667", "entitled_share_of_parent": "0.666666666667"}
    }]},
    "projects": {"changed": 0, "risen": 0, "fallen": 0, "items": []},
    "users": {"changed": 0, "risen": 0, "fallen": 0, "items": []},
    "winners": [], "losers": [],
    "fairness": [{"tier": "domain", "window_days": 7, "misallocated_share_before": "0.2",
        "misallocated_share_after": "0.05", "jains_index_before": "0.8", "jains_index_after": "0.98"}],
    "workloads": null, "pending": {"count": 3, "moved": 2, "items": [
        {"workload_id": "5f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "position_before": 3, "position_after": 1},
        {"workload_id": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "position_before": 1, "position_after": 3}
    ], "starts_before": 1, "starts_after": 2, "start_changes": [
        {"workload_id": "5f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "starts_after": true}
    ]}, "warnings": []
}))]
pub struct SimulatedFairShares {
    /// The configuration that the changes were tried on; for `if_revision`.
    pub config_revision: String,
    /// When usage was last calculated, before and without the changes.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub calculated_at: Option<Timestamp>,
    /// `null`: nothing was asked to be made.
    pub applied: Option<AppliedChanges>,
    pub domains: ChangedDomains,
    pub projects: ChangedProjects,
    pub users: ChangedUsers,
    /// The users who rise by most places, at most ten.
    pub winners: Vec<RankMover>,
    /// The users who fall by most places, at most ten.
    pub losers: Vec<RankMover>,
    /// How far what was used is from what the weights before and after entitle to, by tier and window.
    pub fairness: Vec<FairnessChange>,
    /// `null`: the request has no workloads.
    pub workloads: Option<SequenceOrders>,
    /// The changes of the order of the workloads that are reported as pending.
    pub pending: PendingMoves,
    /// Likely mistakes in the changes, and in the options that would be in force.
    pub warnings: Vec<InputWarning>,
}

/// That the changes were made.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppliedChanges {
    /// The entry of the audit log, which an undo takes back; `null`: all was so already.
    pub audit_id: Option<i64>,
    /// The configuration since then.
    pub config_revision: String,
}

/// The figures of one domain, project or user.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OwnerFigures {
    /// For a project or user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub domain_name: Option<Arc<str>>,
    /// The weight in force: what an admin set, else the group's default.
    pub weight: Weight,
    #[schema(value_type = String)]
    pub effective_weight: EffectiveWeight,
    /// Decayed usage as a part of the window's capacity.
    pub effective_usage: String,
    pub fair_share_factor: String,
    /// 1 is first; equals share a rank.
    pub rank: u32,
    /// The part of the whole group, by weight among those that are active.
    pub entitled_share: String,
    /// The part of the parent's share, likewise.
    pub entitled_share_of_parent: String,
}

impl OwnerFigures {
    pub fn of(group: &VisibleGroup, owner: &Owner, share: &Share, domain_name: Option<Arc<str>>, rank: u32) -> Self {
        let EntitledPart { of_group, of_parent } = group.entitlement(owner).entitled;
        Self {
            domain_name,
            weight: group.weight(share),
            effective_weight: share.effective_weight,
            effective_usage: f64_text(share.history.normalized_usage),
            fair_share_factor: f64_text(share.fair_share_factor),
            rank,
            entitled_share: f64_text(of_group),
            entitled_share_of_parent: f64_text(of_parent),
        }
    }
}

macro_rules! changed {
    ($($(#[$said:meta])* $list:ident of $row:ident { $($field:tt)* })*) => {$(
        $(#[$said])*
        #[derive(Debug, Default, Serialize, ToSchema)]
        pub struct $list {
            /// The number of entities with another weight, factor, usage, rank or place. Those with only another entitlement are not counted.
            pub changed: u64,
            /// The number of them that have a better rank.
            pub risen: u64,
            /// How many have a worse one.
            pub fallen: u64,
            /// The largest change of rank comes first; entities that are new or removed come before all others.
            pub items: Vec<$row>,
        }

        #[derive(Debug, Serialize, ToSchema)]
        pub struct $row {
            $($field)*
            /// `null`: it would be new.
            pub before: Option<OwnerFigures>,
            /// `null`: it would be gone.
            pub after: Option<OwnerFigures>,
        }
    )*};
}

changed! {
    /// Domains for which something changes.
    ChangedDomains of ChangedDomain {
        #[schema(value_type = String)]
        pub domain_name: Arc<str>,
    }
    /// Projects for which something changes.
    ChangedProjects of ChangedProject {
        pub project_id: Uuid,
        #[schema(value_type = Option<String>)]
        pub project_name: Option<Arc<str>>,
    }
    /// Users with changed figures.
    ChangedUsers of ChangedUser {
        pub user_uuid: Uuid,
        #[schema(value_type = Option<String>)]
        pub user_name: Option<Arc<str>>,
        pub project_id: Uuid,
        #[schema(value_type = Option<String>)]
        pub project_name: Option<Arc<str>>,
    }
}

/// A user whose rank changes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RankMover {
    pub user_uuid: Uuid,
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    pub project_id: Uuid,
    #[schema(value_type = Option<String>)]
    pub project_name: Option<Arc<str>>,
    pub rank_before: u32,
    pub rank_after: u32,
}

/// How fair one tier was in the days until the last calculation.
#[derive(Debug, Serialize, ToSchema)]
pub struct FairnessChange {
    /// `domain`, `project` or `user`.
    pub tier: &'static str,
    pub window_days: u32,
    /// 0 to 1, where 0 is fair.
    pub misallocated_share_before: String,
    pub misallocated_share_after: String,
    /// Jain's index of used over entitled, 0 to 1, where 1 is fair; 0 where no owner was active.
    pub jains_index_before: String,
    pub jains_index_after: String,
}

/// The order of the request's workloads.
#[derive(Debug, Serialize, ToSchema)]
pub struct SequenceOrders {
    pub mode_before: SequenceMode,
    pub mode_after: SequenceMode,
    /// First to start after the changes first.
    pub items: Vec<OrderedWorkload>,
}

/// The changes of the order of reported workloads that wait, and of what would start, between the options before and after.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct PendingMoves {
    /// The number of workloads that wait.
    pub count: u64,
    /// How many of them change their position.
    pub moved: u64,
    /// The workloads that move furthest, at most ten.
    pub items: Vec<OrderedWorkload>,
    /// How many of them a scheduling cycle would start now; `null`: nothing waits, or the group cannot be divided.
    pub starts_before: Option<u64>,
    pub starts_after: Option<u64>,
    /// The workloads that a cycle would start either before or after, by id, at most ten.
    pub start_changes: Vec<StartChange>,
}

/// A workload that a cycle would start with one side's options alone.
#[derive(Debug, Serialize, ToSchema)]
pub struct StartChange {
    pub workload_id: String,
    /// True: with those after.
    pub starts_after: bool,
}

/// A workload with its positions, from 1.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrderedWorkload {
    pub workload_id: String,
    pub position_before: u64,
    pub position_after: u64,
}
