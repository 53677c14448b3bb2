//! The fair share of a project as GraphQL shows it, with those of its users below, and lists of them.

use async_graphql::{Context, ID, Object, Result};

use super::{ShareFacts, UserFairShare};
use crate::domain::filter::Filter;
use crate::domain::ids::Owner;
use crate::domain::ranking::PlacedRow;
use crate::engine::group::snapshots::rows::ProjectShare;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::filters::UserFairShareFilter;
use crate::graphql::global_id;
use crate::graphql::orders::{ProjectFairShareOrderBy, UserFairShareOrderBy};
use crate::graphql::scalars::Uuid;
use crate::graphql::share_list::share_list;
use crate::graphql::shared_scans::page_of_shares;
use crate::service::shares::ShareCondition;
use crate::service::{Result as ServiceResult, VisibleGroup};

/// A project in one resource group: weight, decayed usage, factor and rank among its domain's projects.
pub struct ProjectFairShare {
    row: PlacedRow<ProjectShare>,
    facts: ShareFacts,
}

impl ProjectFairShare {
    pub const KIND: &str = "ProjectFairShare";

    pub fn new(group: &VisibleGroup, row: PlacedRow<ProjectShare>) -> Self {
        let owner = Owner::Project(row.project_id);
        let facts = ShareFacts { group: group.clone(), owner, share: row.share.clone(), rank: row.place() };
        Self { row, facts }
    }

    /// A page of `group`'s projects.
    pub async fn list(
        ctx: &Context<'_>,
        group: &VisibleGroup,
        filter: Filter<ShareCondition>,
        order: Option<ProjectFairShareOrderBy>,
        page: &PageArgs,
    ) -> ServiceResult<FactsList<Self>> {
        let order = order.map(|o| (o.field.into(), o.descending()));
        let list = share_list("project", order, filter, page, &group.name)?;
        let scan = || group.project_shares(&list);
        let rows = page_of_shares(ctx, group, (&group.name, group.count_projects()), &list, scan).await?;
        connect(ctx, &group.name, rows, |row| Self::new(group, row))
    }
}

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl ProjectFairShare {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.facts.group.name, &self.row.project_id.to_string()])
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.row.project_id.0)
    }

    /// As the scheduler calls it, if it does.
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

    /// The project's users.
    #[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
    async fn user_fair_shares(
        &self,
        ctx: &Context<'_>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<UserFairShareFilter>,
        order: Option<UserFairShareOrderBy>,
    ) -> Result<FactsList<UserFairShare>> {
        let filter = UserFairShareFilter::read(filter)?;
        let page = PageArgs { first, last, before, after, offset };
        Ok(UserFairShare::list(ctx, &self.facts.group, Some(self.row.project_id), filter, order, &page).await?)
    }
}
