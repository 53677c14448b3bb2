//! Why a workload waits, as a cycle notes it. Figures are added at the end.

use super::outcome::WaitReason;
use super::placement::FailedPlacement;
use crate::reclaim::EvictionRefusal;

/// Why a workload waits, as the cycle notes it. Figures are added at the end.
#[derive(Clone, Debug)]
pub enum NotedReason {
    NoRoom,
    Gang,
    Predicates,
    QueueLimit { queue: usize, column: usize },
    Quota { queue: usize, column: usize },
    QueueShare(usize),
    Behind(usize),
    Reserved { by: usize, until: i64 },
    ReclaimRefused(Box<EvictionRefusal>),
    Depth,
    Budget,
}

impl NotedReason {
    /// The reason behind a failed placement of that many members: predicates if no agent passes them for the first member
    /// that got none.
    pub fn of(unplaced: &FailedPlacement, number: usize) -> Self {
        if unplaced.refused.is_some() {
            Self::Predicates
        } else if number > 1 && unplaced.fit > 0 {
            Self::Gang
        } else {
            Self::NoRoom
        }
    }

    /// True if the workload waits for room. Such a workload stands before those behind it.
    pub fn is_for_room(&self) -> bool {
        matches!(self, Self::NoRoom | Self::Gang)
    }

    /// True if the workload waits for room, and a search for victims has ended without any.
    pub fn is_of_search(&self) -> bool {
        matches!(self, Self::ReclaimRefused(_) | Self::Budget)
    }

    /// True if the workload waits for agents with room that suit it.
    pub fn is_for_agents(&self) -> bool {
        self.is_for_room() || self.is_of_search() || matches!(self, Self::Predicates)
    }

    /// True if evictions may help.
    pub fn may_evict(&self) -> bool {
        self.is_for_room() || self.is_of_search() || matches!(self, Self::QueueLimit { .. } | Self::QueueShare(_))
    }

    /// True if the figures of the final state decide whether it is still so.
    pub fn is_recomputed(&self) -> bool {
        let bounds = matches!(self, Self::QueueLimit { .. } | Self::Quota { .. });
        self.is_for_room() || bounds || matches!(self, Self::Predicates | Self::Reserved { .. })
    }

    pub fn code(&self) -> WaitReason {
        match self {
            Self::NoRoom => WaitReason::NoRoom,
            Self::Gang => WaitReason::Gang,
            Self::Predicates => WaitReason::Predicates,
            Self::QueueLimit { .. } => WaitReason::QueueLimit,
            Self::Quota { .. } => WaitReason::QuotaNonPreemptible,
            Self::QueueShare(_) => WaitReason::QueueShare,
            Self::Behind(_) => WaitReason::Behind,
            Self::Reserved { .. } => WaitReason::Reserved,
            Self::ReclaimRefused(_) => WaitReason::ReclaimRefused,
            Self::Depth => WaitReason::Depth,
            Self::Budget => WaitReason::Budget,
        }
    }

    pub fn code_text(&self) -> &'static str {
        self.code().as_str()
    }
}
