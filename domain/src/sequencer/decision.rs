//! The reasons why a workload does not come before the one that is placed right before it.

use super::SequenceWorkload;

/// A property of their owners that decides between two workloads. Each sequencer declares its own ones.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnerReason {
    /// The property in answers, such as `domain`.
    pub name: &'static str,
    /// The reason as a sentence about the workload that is placed right before.
    pub sentence: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderDecision {
    /// Nothing comes before the workload.
    First,
    Owner(&'static OwnerReason),
    Queue,
    Priority,
    Submission,
    Id,
    /// The order of the input.
    Given,
}

impl OrderDecision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Owner(reason) => reason.name,
            Self::Queue => "queue",
            Self::Priority => "priority",
            Self::Submission => "submitted_at",
            Self::Id => "workload_id",
            Self::Given => "given_order",
        }
    }

    /// The reason as a sentence. `latest_first` is true if equal workloads start in reverse order.
    pub fn reason_text(self, latest_first: bool) -> &'static str {
        match self {
            Self::First => "Nothing is ahead of it.",
            Self::Owner(reason) => reason.sentence,
            Self::Queue => "It is the turn of another queue ahead of its own.",
            Self::Priority => "The one ahead has a higher priority.",
            Self::Submission if latest_first => "The one ahead was submitted later, and the last comes first.",
            Self::Submission => "The one ahead was submitted earlier.",
            Self::Id if latest_first => "Both were submitted at the same time; the larger id comes first.",
            Self::Id => "Both were submitted at the same time; the smaller id comes first.",
            Self::Given if latest_first => "The one ahead was given later, and the last comes first.",
            Self::Given => "The one ahead was given earlier.",
        }
    }
}

/// The reason that decides between workloads that are equal in everything else.
pub(super) fn tie_reason(one: &SequenceWorkload, other: &SequenceWorkload) -> OrderDecision {
    match (one.submitted_at, other.submitted_at) {
        (None, None) => OrderDecision::Given,
        (a, b) if a != b => OrderDecision::Submission,
        _ if one.id != other.id => OrderDecision::Id,
        _ => OrderDecision::Given,
    }
}
