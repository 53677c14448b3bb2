//! The fair share of a user in one project as GraphQL shows it, and lists of them.

use async_graphql::{Context, ID, Object};

use super::ShareFacts;
use crate::domain::filter::Filter;
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::ranking::PlacedRow;
use crate::engine::group::snapshots::rows::UserShare;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::global_id;
use crate::graphql::orders::UserFairShareOrderBy;
use crate::graphql::scalars::Uuid;
use crate::graphql::share_list::share_list;
use crate::graphql::shared_scans::page_of_shares;
use crate::service::shares::ShareCondition;
use crate::service::{Result as ServiceResult, VisibleGroup};

/// A user in one project of a resource group: decayed usage, factor and rank among all the group's users.
pub struct UserFairShare {
    row: PlacedRow<UserShare>,
    facts: ShareFacts,
}

impl UserFairShare {
    pub const KIND: &str = "UserFairShare";

    pub fn new(group: &VisibleGroup, row: PlacedRow<UserShare>) -> Self {
        let owner = Owner::User(row.member);
        let facts = ShareFacts { group: group.clone(), owner, share: row.share.clone(), rank: row.place() };
        Self { row, facts }
    }

    /// A page of `group`'s users, or of one project's.
    pub async fn list(
        ctx: &Context<'_>,
        group: &VisibleGroup,
        project: Option<ProjectId>,
        filter: Filter<ShareCondition>,
        order: Option<UserFairShareOrderBy>,
        page: &PageArgs,
    ) -> ServiceResult<FactsList<Self>> {
        let order = order.map(|o| (o.field.into(), o.descending()));
        let scope = project.map_or_else(|| group.name.to_string(), |project| format!("{}/{}", group.name, project.0));
        let list = share_list("user", order, filter, page, &scope)?;
        let scan = || Ok(group.user_shares(project, &list));
        let count = project.map_or_else(|| group.count_users(), |project| group.count_members(project));
        let rows = page_of_shares(ctx, group, (&scope, count), &list, scan).await?;
        connect(ctx, &scope, rows, |row| Self::new(group, row))
    }
}

#[Object(rename_fields = "snake_case")]
impl UserFairShare {
    pub async fn id(&self) -> ID {
        let (user, project) = (self.row.member.user.to_string(), self.row.member.project.to_string());
        global_id::encode(Self::KIND, &[&self.facts.group.name, &user, &project])
    }

    async fn user_uuid(&self) -> Uuid {
        Uuid(self.row.member.user.0)
    }

    /// As the scheduler calls them, if it does.
    async fn user_name(&self) -> Option<&str> {
        self.row.user_name.as_deref()
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.row.member.project.0)
    }

    async fn project_name(&self) -> Option<&str> {
        self.row.project_name.as_deref()
    }

    async fn domain_name(&self) -> &str {
        &self.row.domain_name
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &ShareFacts {
        &self.facts
    }
}
