//! Domains, projects and users as GraphQL shows them.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};

use super::{InputWarning, input_warnings};
use crate::graphql::global_id;
use crate::graphql::guard;
use crate::graphql::query::service;
use crate::graphql::scalars::{DateTime, Uuid};
use crate::service::people;

/// A domain: the first tier of the hierarchy.
pub struct Domain(pub Arc<people::Domain>);

impl Domain {
    pub const KIND: &str = "Domain";
}

#[Object(rename_fields = "snake_case")]
impl Domain {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.0.name])
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    async fn display_name(&self) -> Option<&str> {
        self.0.display_name.as_deref()
    }

    /// Hidden from lists and rankings; weights, history and everybody's numbers are as before.
    async fn archived(&self) -> bool {
        self.0.archived_at.is_some()
    }

    async fn archived_at(&self) -> Option<DateTime> {
        self.0.archived_at.map(DateTime)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    /// Likely mistakes, as an archived domain whose kernels run; never a refusal.
    async fn warnings(&self, ctx: &Context<'_>) -> Result<Vec<InputWarning>> {
        if self.0.archived_at.is_some() {
            guard::charge_rows(ctx, service(ctx)?.people().projects().len())?;
        }
        Ok(input_warnings(service(ctx)?.domain_warnings(&self.0)))
    }
}

/// A project with the domain that it is in now.
pub struct Project(pub Arc<people::Project>);

impl Project {
    pub const KIND: &str = "Project";
}

#[Object(rename_fields = "snake_case")]
impl Project {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.0.id.to_string()])
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.0.id.0)
    }

    /// Unique among projects.
    async fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    async fn display_name(&self) -> Option<&str> {
        self.0.display_name.as_deref()
    }

    async fn domain_name(&self) -> &str {
        &self.0.domain_name
    }

    /// An admin has set the domain: reports that name another count there.
    async fn domain_pinned(&self) -> bool {
        self.0.domain_pinned
    }

    /// Hidden from lists and rankings; weights, history and everybody's numbers are as before.
    async fn archived(&self) -> bool {
        self.0.archived_at.is_some()
    }

    async fn archived_at(&self) -> Option<DateTime> {
        self.0.archived_at.map(DateTime)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    /// Likely mistakes, as an archived project whose kernels run; never a refusal.
    async fn warnings(&self, ctx: &Context<'_>) -> Result<Vec<InputWarning>> {
        Ok(input_warnings(service(ctx)?.project_warnings(&self.0)))
    }
}

/// A user, in whatever projects.
pub struct User(pub Arc<people::User>);

impl User {
    pub const KIND: &str = "User";
}

#[Object(rename_fields = "snake_case")]
impl User {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.0.id.to_string()])
    }

    async fn user_uuid(&self) -> Uuid {
        Uuid(self.0.id.0)
    }

    /// Unique among users.
    async fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    async fn display_name(&self) -> Option<&str> {
        self.0.display_name.as_deref()
    }

    /// Hidden from lists and rankings; weights, history and everybody's numbers are as before.
    async fn archived(&self) -> bool {
        self.0.archived_at.is_some()
    }

    async fn archived_at(&self) -> Option<DateTime> {
        self.0.archived_at.map(DateTime)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    /// Likely mistakes, as an archived user whose kernels run; never a refusal.
    async fn warnings(&self, ctx: &Context<'_>) -> Result<Vec<InputWarning>> {
        Ok(input_warnings(service(ctx)?.user_warnings(&self.0)))
    }
}
