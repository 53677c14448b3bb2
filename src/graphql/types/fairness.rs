//! The fairness of a window with its rows, and that of single days, as GraphQL shows them.

use async_graphql::{Context, Object, Result};

use crate::domain::decimal::{f64_text, signed_text};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::orders::FairnessTier;
use crate::graphql::scalars::{Date, DateTime, Uuid};
use crate::service::fairness::days::FairnessDay;
use crate::service::fairness::report::{self, FairnessRow, ReportedOwner, list_name};

/// The usage of each domain, project or user of a tier in a window, beside the shares that weights entitle them to.
pub struct FairnessNode(pub report::TierFairness);

#[Object(name = "Fairness", rename_fields = "snake_case")]
impl FairnessNode {
    async fn resource_group(&self) -> &str {
        &self.0.group.name
    }

    async fn tier(&self) -> FairnessTier {
        self.0.tier.into()
    }

    async fn window_start(&self) -> DateTime {
        DateTime(self.0.span.start)
    }

    async fn window_end(&self) -> DateTime {
        DateTime(self.0.span.end)
    }

    /// Which part of what was used is in the wrong hands: half of the sum of the errors without their signs, 0 to 1.
    async fn misallocated_share(&self) -> String {
        f64_text(self.0.report.misallocated_share)
    }

    /// Jain's index of the ratios: 1 if all are equal, 1/n if one of n has everything. 0 where no owner was active.
    async fn jains_index(&self) -> String {
        f64_text(self.0.report.jains_index)
    }

    /// How many used something, or hold or ask for something now.
    async fn active(&self) -> usize {
        self.0.report.entities.len()
    }

    /// The owner that received the most beyond its share; null: no owner did, or the key may not see others.
    async fn most_over_served(&self) -> Option<FairnessEntryNode> {
        self.0.most_over_served().cloned().map(FairnessEntryNode)
    }

    /// The owner that received the least of its share, likewise.
    async fn most_under_served(&self) -> Option<FairnessEntryNode> {
        self.0.most_under_served().cloned().map(FairnessEntryNode)
    }

    /// The most under-served first. A key of role `user` sees the rows of its user.
    async fn entries(
        &self,
        ctx: &Context<'_>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<FairnessEntryNode>> {
        let scope = &self.0.group.name;
        let window = PageArgs { first, last, before, after, offset }.window(&list_name(self.0.tier), scope)?;
        Ok(connect(ctx, scope, self.0.page(&window), FairnessEntryNode)?)
    }
}

/// The usage of a domain, project or user in the window, beside the share that it is entitled to.
pub struct FairnessEntryNode(pub FairnessRow);

#[Object(name = "FairnessEntry", rename_fields = "snake_case")]
impl FairnessEntryNode {
    async fn domain_name(&self) -> &str {
        match &self.0.who {
            ReportedOwner::Domain(row) => &row.domain_name,
            ReportedOwner::Project(row) => &row.domain_name,
            ReportedOwner::User(row) => &row.domain_name,
        }
    }

    /// Null of domains.
    async fn project_id(&self) -> Option<Uuid> {
        match &self.0.who {
            ReportedOwner::Domain(_) => None,
            ReportedOwner::Project(row) => Some(Uuid(row.project_id.0)),
            ReportedOwner::User(row) => Some(Uuid(row.member.project.0)),
        }
    }

    async fn project_name(&self) -> Option<&str> {
        match &self.0.who {
            ReportedOwner::Domain(_) => None,
            ReportedOwner::Project(row) => row.project_name.as_deref(),
            ReportedOwner::User(row) => row.project_name.as_deref(),
        }
    }

    /// Null of domains and projects.
    async fn user_uuid(&self) -> Option<Uuid> {
        match &self.0.who {
            ReportedOwner::User(row) => Some(Uuid(row.member.user.0)),
            ReportedOwner::Domain(_) | ReportedOwner::Project(_) => None,
        }
    }

    async fn user_name(&self) -> Option<&str> {
        match &self.0.who {
            ReportedOwner::User(row) => row.user_name.as_deref(),
            ReportedOwner::Domain(_) | ReportedOwner::Project(_) => None,
        }
    }

    /// The part of the usage of the whole group, 0 to 1.
    async fn used_share(&self) -> String {
        f64_text(self.0.received.used_share)
    }

    /// The part of the parent's usage.
    async fn used_share_of_parent(&self) -> String {
        f64_text(self.0.received.used_share_of_parent)
    }

    /// The entitled part of the usage of the whole group, by weight among those that are active; shares that some did
    /// not ask for go to their siblings.
    async fn entitled_share(&self) -> String {
        f64_text(self.0.received.entitled_share)
    }

    /// The part of the share that the parent is entitled to.
    async fn entitled_share_of_parent(&self) -> String {
        f64_text(self.0.received.entitled_share_of_parent)
    }

    /// `used_share / entitled_share`.
    async fn ratio(&self) -> String {
        f64_text(self.0.received.ratio)
    }

    /// `used_share - entitled_share`.
    async fn error(&self) -> String {
        signed_text(self.0.received.error)
    }

    /// True if it asked for less than its weight would give.
    async fn demand_limited(&self) -> bool {
        self.0.received.demand_limited
    }
}

/// How fair one tier was on one day.
pub struct FairnessDayNode(pub FairnessDay);

#[Object(name = "FairnessDay", rename_fields = "snake_case")]
impl FairnessDayNode {
    async fn day(&self) -> Date {
        Date(self.0.day)
    }

    async fn tier(&self) -> FairnessTier {
        self.0.tier.into()
    }

    async fn misallocated_share(&self) -> String {
        f64_text(self.0.misallocated_share)
    }

    async fn jains_index(&self) -> String {
        f64_text(self.0.jains_index)
    }

    /// How many of the tier were active.
    async fn active(&self) -> u32 {
        self.0.active
    }

    async fn calculated_at(&self) -> DateTime {
        DateTime(self.0.calculated_at)
    }
}
