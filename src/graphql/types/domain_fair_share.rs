//! The fair share of a domain as GraphQL shows it, with those of its projects below.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};

use super::{ProjectFairShare, ShareFacts};
use crate::domain::filter::{Filter, PatternPlace, TextMatch};
use crate::domain::ids::Owner;
use crate::domain::ranking::PlacedRow;
use crate::engine::group::snapshots::rows::DomainShare;
use crate::graphql::connection::{FactsList, PageArgs};
use crate::graphql::filters::ProjectFairShareFilter;
use crate::graphql::global_id;
use crate::graphql::orders::ProjectFairShareOrderBy;
use crate::service::VisibleGroup;
use crate::service::shares::ShareCondition;

/// A domain in one resource group: weight, decayed usage, factor and rank among the group's domains.
pub struct DomainFairShare {
    row: PlacedRow<DomainShare>,
    facts: ShareFacts,
}

impl DomainFairShare {
    pub const KIND: &str = "DomainFairShare";

    pub fn new(group: &VisibleGroup, row: PlacedRow<DomainShare>) -> Self {
        let owner = Owner::Domain(Arc::clone(&row.domain_name));
        let facts = ShareFacts { group: group.clone(), owner, share: row.share.clone(), rank: row.place() };
        Self { row, facts }
    }
}

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl DomainFairShare {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.facts.group.name, &self.row.domain_name])
    }

    async fn domain_name(&self) -> &str {
        &self.row.domain_name
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &ShareFacts {
        &self.facts
    }

    /// The domain's projects.
    #[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
    async fn project_fair_shares(
        &self,
        ctx: &Context<'_>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<ProjectFairShareFilter>,
        order: Option<ProjectFairShareOrderBy>,
    ) -> Result<FactsList<ProjectFairShare>> {
        let own = TextMatch::Like {
            place: PatternPlace::Whole,
            pattern: self.row.domain_name.to_string(),
            ignore_case: false,
        };
        let filter = ProjectFairShareFilter::read(filter)?;
        let filter = Filter::All(vec![Filter::Is(ShareCondition::Domain(own)), filter]);
        let page = PageArgs { first, last, before, after, offset };
        Ok(ProjectFairShare::list(ctx, &self.facts.group, filter, order, &page).await?)
    }
}
