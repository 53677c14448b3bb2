//! `GET /resource-groups/{rg}/explain`: the reasons for the place of a domain, project or user.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::domain::tier::Tier;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::explain::ExplainInput;
use crate::service::explain::answer::Explanation;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplainQuery {
    /// The tier that is explained; by default the lowest tier that is named. Keys of users ask about their own users.
    #[param(inline)]
    pub tier: Option<Tier>,
    /// Name of the domain.
    pub domain: Option<String>,
    /// UUID of the project, or its name; by default a user's best-ranked project.
    pub project: Option<String>,
    /// UUID of the user, or the name.
    pub user: Option<String>,
    /// A workload of one of the last 4 sequences of the group, at most 10 minutes old, or a reported workload that waits, by its id
    /// or that of one of its kernels; its owner is explained.
    pub workload: Option<String>,
    /// A place; the answer has the weight that leads there.
    #[param(minimum = 1)]
    pub place: Option<i64>,
}

impl From<ExplainQuery> for ExplainInput {
    fn from(query: ExplainQuery) -> Self {
        let ExplainQuery { tier, domain, project, user, workload, place } = query;
        Self { tier, domain, project, user, workload, place }
    }
}

/// Why a domain, a project or a user stands where it stands, and what would change that.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/explain", operation_id = "explain_fair_share", tag = "Fair share",
    params(GroupPath, ExplainQuery), responses((status = 200, body = Explanation))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<ExplainQuery>,
) -> Result<Json<Explanation>> {
    Ok(Json(service.explain(&caller, &path.rg, query.into()).await?))
}
