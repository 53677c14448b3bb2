//! The shares of a domain, project or user after the last run of a day, as GraphQL shows them.

use async_graphql::{Context, Object, Result};

use crate::domain::decimal::f64_text;
use crate::domain::ids::{Owner, ProjectId, UserId};
use crate::graphql::orders::FairnessTier;
use crate::graphql::query::service;
use crate::graphql::scalars::{Date, Uuid};
use crate::service::share_history::ShareDay;

/// The share of a domain, project or user after the last run of a day.
pub struct FairShareDayNode(pub ShareDay);

impl FairShareDayNode {
    fn project(&self) -> Option<ProjectId> {
        match &self.0.owner {
            Owner::Domain(_) => None,
            Owner::Project(id) => Some(*id),
            Owner::User(member) => Some(member.project),
        }
    }

    fn user(&self) -> Option<UserId> {
        self.0.owner.member().map(|member| member.user)
    }
}

#[Object(name = "FairShareDay", rename_fields = "snake_case")]
impl FairShareDayNode {
    async fn day(&self) -> Date {
        Date(self.0.day)
    }

    async fn tier(&self) -> FairnessTier {
        match &self.0.owner {
            Owner::Domain(_) => FairnessTier::Domain,
            Owner::Project(_) => FairnessTier::Project,
            Owner::User(_) => FairnessTier::User,
        }
    }

    /// Null of projects and users.
    async fn domain_name(&self) -> Option<&str> {
        match &self.0.owner {
            Owner::Domain(name) => Some(name),
            Owner::Project(_) | Owner::User(_) => None,
        }
    }

    #[graphql(name = "project_id")]
    async fn project_uuid(&self) -> Option<Uuid> {
        self.project().map(|id| Uuid(id.0))
    }

    /// As it is called now.
    async fn project_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let people = service(ctx)?.people();
        Ok(self.project().and_then(|id| people.project_name(id)).map(|name| name.to_string()))
    }

    async fn user_uuid(&self) -> Option<Uuid> {
        self.user().map(|id| Uuid(id.0))
    }

    /// As the user is called now.
    async fn user_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let people = service(ctx)?.people();
        Ok(self.user().and_then(|id| people.user_name(id)).map(|name| name.to_string()))
    }

    /// 1 is first; equals share a rank.
    async fn rank(&self) -> u32 {
        self.0.rank
    }

    async fn fair_share_factor(&self) -> String {
        f64_text(self.0.fair_share_factor)
    }

    /// Decayed usage as a part of the window's capacity.
    async fn effective_usage(&self) -> String {
        f64_text(self.0.normalized_usage)
    }

    async fn effective_weight(&self) -> &str {
        &self.0.effective_weight
    }

    /// The part of the whole group, by weight among those that were active.
    async fn entitled_share(&self) -> String {
        f64_text(self.0.entitled_share)
    }

    /// The part of the parent's share, likewise; null for days that an earlier version wrote.
    async fn entitled_share_of_parent(&self) -> Option<String> {
        self.0.entitled_share_of_parent.map(f64_text)
    }
}
