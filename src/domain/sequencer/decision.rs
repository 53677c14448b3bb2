//! What decides that a workload does not come before the one that is placed right before it.

use super::Workload;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is before it.
    First,
    Domain,
    Project,
    User,
    DominantShare,
    Queue,
    Priority,
    Submission,
    Id,
    /// The order in which they were given.
    Given,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Domain => "domain",
            Self::Project => "project",
            Self::User => "user",
            Self::DominantShare => "dominant_share",
            Self::Queue => "queue",
            Self::Priority => "priority",
            Self::Submission => "submitted_at",
            Self::Id => "workload_id",
            Self::Given => "given_order",
        }
    }

    /// The reason in plain words. `latest_first`: equals start in reverse.
    pub fn because(self, latest_first: bool) -> &'static str {
        match self {
            Self::First => "Nothing is ahead of it.",
            Self::Domain => "The domain of the one ahead has used less for its weight.",
            Self::Project => "The project of the one ahead has used less for its weight.",
            Self::User => "The user of the one ahead has used less for their weight.",
            Self::DominantShare => "The user of the one ahead occupies a smaller part of the cluster.",
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

/// What tells workloads apart that are equal in everything else.
pub(super) fn tie(one: &Workload, other: &Workload) -> Decision {
    match (one.submitted_at, other.submitted_at) {
        (None, None) => Decision::Given,
        (a, b) if a != b => Decision::Submission,
        _ if one.id != other.id => Decision::Id,
        _ => Decision::Given,
    }
}
