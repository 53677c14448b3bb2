//! The orders of lists, and the enums of the schema.

use async_graphql::{Enum, InputObject};

use crate::service::buckets::BucketField;
use crate::service::shares::ShareField;

#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderDirection {
    Asc,
    Desc,
}

/// The kind of entity that a weight belongs to.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FairShareWeightTargetType {
    Domain,
    Project,
    User,
}

/// A tier of the hierarchy.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::domain::tier::Tier")]
pub enum FairnessTier {
    Domain,
    Project,
    User,
}

/// The order of the rows within a day, in a history of factors and ranks.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::service::share_history::ShareOrder")]
pub enum FairShareDayOrder {
    Id,
    Rank,
}

/// The same kinds, by the name that `reset_fair_share_weight` uses.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "FairShareWeightTargetType")]
pub enum FairShareTargetType {
    Domain,
    Project,
    User,
}

/// The treatment of time in which no server ran.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "crate::domain::slice::GapPolicy")]
pub enum SliceGapPolicy {
    Interpolate,
    Ignore,
}

macro_rules! order_input {
    ($($name:ident($field:ident, $default:ident, $text:literal) { $($item:ident),* })*) => {$(
        #[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $field {
            $($item),*
        }

        #[derive(InputObject, Clone, Copy, Debug)]
        #[graphql(rename_fields = "snake_case")]
        pub struct $name {
            pub field: $field,
            #[graphql(default_with = $text)]
            pub direction: Option<OrderDirection>,
        }

        impl $name {
            /// A `null` direction is the default one.
            pub fn descending(self) -> bool {
                self.direction.unwrap_or(OrderDirection::$default) == OrderDirection::Desc
            }
        }
    )*};
}

/// Order inputs whose fields have the same names in the service.
macro_rules! service_order {
    ($($name:ident($field:ident => $lowered:ident) $items:tt)*) => {$(
        order_input! { $name($field, Desc, "Some(OrderDirection::Desc)") $items }
        service_order! { @from $field => $lowered $items }
    )*};
    (@from $field:ident => $lowered:ident { $($item:ident),* }) => {
        impl From<$field> for $lowered {
            fn from(field: $field) -> Self {
                match field {
                    $($field::$item => Self::$item),*
                }
            }
        }
    };
}

service_order! {
    DomainFairShareOrderBy(DomainFairShareOrderField => ShareField) { FairShareFactor, EffectiveUsage, EffectiveWeight, Rank, Name }
    ProjectFairShareOrderBy(ProjectFairShareOrderField => ShareField) { FairShareFactor, EffectiveUsage, EffectiveWeight, Rank, Name }
    UserFairShareOrderBy(UserFairShareOrderField => ShareField) { FairShareFactor, EffectiveUsage, EffectiveWeight, Rank, Name }
    DomainUsageBucketOrderBy(DomainUsageBucketOrderField => BucketField) { PeriodStart, PeriodEnd, CreatedAt, UpdatedAt }
    ProjectUsageBucketOrderBy(ProjectUsageBucketOrderField => BucketField) { PeriodStart, PeriodEnd, CreatedAt, UpdatedAt }
    UserUsageBucketOrderBy(UserUsageBucketOrderField => BucketField) { PeriodStart, PeriodEnd, CreatedAt, UpdatedAt }
}

order_input! {
    FairShareWeightOrderBy(FairShareWeightOrderField, Asc, "Some(OrderDirection::Asc)") { TargetType, TargetId, Weight }
}
