//! The reasons why a workload does not come before the one that is placed right before it.

use super::Workload;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing comes before the workload.
    First,
    Domain,
    Project,
    User,
    DominantShare,
    /// The reasons of progressive orders. They also count the workloads that come earlier in the order.
    ChargedDomain,
    ChargedProject,
    ChargedUser,
    ChargedDominantShare,
    Queue,
    Priority,
    Submission,
    Id,
    /// The order of the input.
    Given,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Domain | Self::ChargedDomain => "domain",
            Self::Project | Self::ChargedProject => "project",
            Self::User | Self::ChargedUser => "user",
            Self::DominantShare | Self::ChargedDominantShare => "dominant_share",
            Self::Queue => "queue",
            Self::Priority => "priority",
            Self::Submission => "submitted_at",
            Self::Id => "workload_id",
            Self::Given => "given_order",
        }
    }

    /// The reason as a sentence. `latest_first` is true if equal workloads start in reverse order.
    pub fn because(self, latest_first: bool) -> &'static str {
        match self {
            Self::First => "Nothing is ahead of it.",
            Self::Domain => "The domain of the one ahead has used less for its weight.",
            Self::Project => "The project of the one ahead has used less for its weight.",
            Self::User => "The user of the one ahead has used less for their weight.",
            Self::DominantShare => "The user of the one ahead occupies a smaller part of the cluster.",
            Self::ChargedDomain => {
                "At this point of the order, the domain of the one ahead has used less for its weight. What its kernels and \
                 its workloads further ahead will use counts as used."
            }
            Self::ChargedProject => {
                "At this point of the order, the project of the one ahead has used less for its weight. What its kernels \
                 and its workloads further ahead will use counts as used."
            }
            Self::ChargedUser => {
                "At this point of the order, the usage that counts for the user of the one ahead is smaller for their \
                 weight. What their kernels and their workloads further ahead will use counts, and half of what their \
                 next one will use, up to as much as they have without it."
            }
            Self::ChargedDominantShare => {
                "At this point of the order, the user of the one ahead occupies a smaller part of the cluster. Their \
                 workloads further ahead count."
            }
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
pub(super) fn tie(one: &Workload, other: &Workload) -> Decision {
    match (one.submitted_at, other.submitted_at) {
        (None, None) => Decision::Given,
        (a, b) if a != b => Decision::Submission,
        _ if one.id != other.id => Decision::Id,
        _ => Decision::Given,
    }
}
