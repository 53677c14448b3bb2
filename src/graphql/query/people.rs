//! Queries for domains, projects and users.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::scalars::Uuid;
use crate::graphql::types::{Domain, Project, User};
use crate::service::Service;
use crate::service::people::{PeopleFilter, PeopleList};

fn people_filter(archived: Option<bool>, search: Option<String>) -> PeopleFilter {
    PeopleFilter { archived: archived.unwrap_or(false), search }
}

#[derive(Default)]
pub struct PersonQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl PersonQueries {
    /// Domains of the server by name; with `archived` those that are archived instead of those that are not.
    async fn domains(
        &self,
        ctx: &Context<'_>,
        archived: Option<bool>,
        search: Option<String>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<Domain>> {
        let window = PageArgs { first, last, before, after, offset }.window(Service::DOMAIN_LIST, "")?;
        let list = PeopleList { filter: people_filter(archived, search), window };
        guard::charge_rows(ctx, service(ctx)?.people().domains().count())?;
        Ok(connect(ctx, "", service(ctx)?.domains(caller(ctx)?, &list)?, Domain)?)
    }

    /// Projects of the server by name; with `archived` those that are archived, themselves or with their domain.
    async fn projects(
        &self,
        ctx: &Context<'_>,
        domain_name: Option<String>,
        archived: Option<bool>,
        search: Option<String>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<Project>> {
        let scope = domain_name.clone().unwrap_or_default();
        let window = PageArgs { first, last, before, after, offset }.window(Service::PROJECT_LIST, &scope)?;
        let list = PeopleList { filter: people_filter(archived, search), window };
        guard::charge_rows(ctx, service(ctx)?.people().projects().len())?;
        let page = service(ctx)?.projects(caller(ctx)?, domain_name.as_deref(), &list).await?;
        Ok(connect(ctx, &scope, page, Project)?)
    }

    /// Users of the server by name; with `archived` those that are archived instead of those that are not.
    async fn users(
        &self,
        ctx: &Context<'_>,
        archived: Option<bool>,
        search: Option<String>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<User>> {
        let window = PageArgs { first, last, before, after, offset }.window(Service::USER_LIST, "")?;
        let list = PeopleList { filter: people_filter(archived, search), window };
        guard::charge_rows(ctx, service(ctx)?.people().users().len())?;
        Ok(connect(ctx, "", service(ctx)?.users(caller(ctx)?, &list).await?, User)?)
    }

    /// One domain; null if the server does not know it.
    async fn domain(&self, ctx: &Context<'_>, name: String) -> Result<Option<Domain>> {
        Ok(service(ctx)?.known_domain(caller(ctx)?, &name)?.map(Domain))
    }

    /// One project; null if the server does not know it.
    async fn project(&self, ctx: &Context<'_>, project_id: Uuid) -> Result<Option<Project>> {
        let id = service(ctx)?.people().project_of_uuid(project_id.0);
        Ok(service(ctx)?.known_project(caller(ctx)?, id)?.map(Project))
    }

    /// One user; null if the server does not know them.
    async fn user(&self, ctx: &Context<'_>, user_uuid: Uuid) -> Result<Option<User>> {
        let id = service(ctx)?.people().user_of_uuid(user_uuid.0);
        Ok(service(ctx)?.known_user(caller(ctx)?, id)?.map(User))
    }
}
