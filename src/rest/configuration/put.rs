//! `PUT /resource-groups/{rg}/configuration`: writes the weights and queues of a document, all or nothing.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::changes::ConfigurationWritten;
use super::names::GroupNames;
use super::view::GroupConfiguration;
use super::wanted_configuration::{locate_faults, located_warnings, wanted_configuration};
use crate::rest::extract::{JsonBody, PathParams, QueryParams};
use crate::rest::paths::{GroupPath, same_as_path};
use crate::rest::problem::Result;
use crate::service::input::terms::WriteTerms;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConfigurationQuery {
    /// True to unset weights that the document does not name, and to remove queues if it has the key `queues`.
    #[serde(default)]
    pub prune: bool,
    /// True to get the changes in the answer without making them.
    #[serde(default)]
    pub dry_run: bool,
    /// The `config_revision` that the document is based on; another one refuses it with 409 `config_changed`.
    pub if_revision: Option<String>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// Sets the weights and writes the queues that the document names, all or nothing; what it does not name stays, unless
/// `prune` is set. Factors, ranks and the division follow at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/configuration", operation_id = "put_configuration", tag = "Configuration",
    params(GroupPath, ConfigurationQuery), request_body = GroupConfiguration,
    responses(
        (status = 200, body = ConfigurationWritten),
        (status = 409, description = "The configuration has changed since `if_revision`.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<ConfigurationQuery>,
    JsonBody(body): JsonBody<GroupConfiguration>,
) -> Result<Json<ConfigurationWritten>> {
    // A caller who may not write must not learn anything about names.
    caller.require_admin()?;
    let group = service.group(&caller, &path.rg)?;
    same_as_path("/resource_group", body.resource_group.as_deref(), &path.rg)?;
    let names = GroupNames::of(&service, group.whole()?);
    let (wanted, pointers) = wanted_configuration(body, &names, query.prune)?;
    let terms = WriteTerms { reason: query.reason, if_revision: query.if_revision };
    let queues = wanted.queues.clone().unwrap_or_default();
    let changed = if query.dry_run {
        service.preview_configuration(&caller, &path.rg, wanted).await
    } else {
        service.put_configuration(caller.clone(), path.rg.clone(), wanted, terms).await
    };
    let mut changed = changed.map_err(|error| locate_faults(error, &pointers))?;
    changed.warnings = located_warnings(changed.warnings, &pointers);
    Ok(Json(ConfigurationWritten::of(&names, &changed, &queues)))
}
