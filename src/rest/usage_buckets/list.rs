//! `GET /resource-groups/{rg}/usage-buckets/{tier}`: the buckets of one tier by their first day.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::view::{TierName, UsageBucket};
use crate::domain::filter::{CompareOperator, DayMatch, Filter, PatternPlace as TextPlace, TextMatch};
use crate::domain::ids::{ProjectId, UserId};
use crate::domain::time::Day;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::problem::Result;
use crate::service::buckets::{BucketCondition, BucketField, BucketList, bucket_list_name};
use crate::service::people::known_names;
use crate::service::{Caller, Error, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TierPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    #[param(inline, example = "users")]
    pub tier: TierName,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BucketListQuery {
    /// The first day, inclusive: buckets that end on it or later.
    #[param(value_type = Option<String>, format = Date)]
    pub from: Option<Day>,
    /// The last day, inclusive: buckets that start on it or earlier.
    #[param(value_type = Option<String>, format = Date)]
    pub to: Option<Day>,
    pub domain_name: Option<String>,
    /// Not in the domain tier.
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    /// Only in the user tier.
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl BucketListQuery {
    fn filter(&self, people: &PeopleDirectory, caller: &Caller, tier: TierName) -> Result<Filter<BucketCondition>> {
        let fault = |fault| Error::Invalid(vec![fault]);
        let (called, of_project) = (self.user.as_deref(), self.project.as_deref());
        let user = lookup::some_user(people, self.user_uuid.map(UserId), called).map_err(fault)?;
        known_names::require_known_user(people, caller, user, called).map_err(fault)?;
        if let Some(user) = user {
            caller.require_user(user)?;
        }
        let project = lookup::some_project(people, self.project_id.map(ProjectId), of_project).map_err(fault)?;
        known_names::require_known_project(people, caller, project, of_project).map_err(fault)?;
        let refuse = |pointer: &str, said: &str| Err(Error::about(pointer, "contradiction", said).into());
        if user.is_some() && tier != TierName::Users {
            return refuse("/user_uuid", "does not go with buckets of domains and projects");
        }
        if project.is_some() && tier == TierName::Domains {
            return refuse("/project_id", "does not go with buckets of domains");
        }
        if self.from.zip(self.to).is_some_and(|(from, to)| to < from) {
            return refuse("/to", "lies before `from`");
        }
        let whole = |name: &String| {
            let pattern = name.clone();
            BucketCondition::Domain(TextMatch::Like { place: TextPlace::Whole, pattern, ignore_case: false })
        };
        let conditions = [
            self.from.map(|day| BucketCondition::PeriodEnd(DayMatch { day, compare: CompareOperator::GreaterOrEqual })),
            self.to.map(|day| BucketCondition::PeriodStart(DayMatch { day, compare: CompareOperator::LessOrEqual })),
            self.domain_name.as_ref().map(whole),
            project.map(|id| BucketCondition::Project(vec![id.0])),
            user.map(|id| BucketCondition::User(vec![id.0])),
        ];
        Ok(Filter::All(conditions.into_iter().flatten().map(Filter::Is).collect()))
    }
}

/// Buckets of one tier by their first day.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/usage-buckets/{tier}", operation_id = "list_usage_buckets", tag = "Usage",
    params(TierPath, BucketListQuery), responses((status = 200, body = List<UsageBucket>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<TierPath>,
    QueryParams(query): QueryParams<BucketListQuery>,
) -> Result<Json<List<UsageBucket>>> {
    let (tier, field) = (path.tier.into(), BucketField::PeriodStart);
    let cursor = ListCursor::new(bucket_list_name(tier, field, false), &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let filter = query.filter(&service.people(), &caller, path.tier)?;
    let list = BucketList { tier, filter, field, descending: false, window };
    let page = service.usage_buckets(&caller, &path.rg, list).await?;
    let group = service.group(&caller, &path.rg)?;
    let (scale, people) = (group.scale(service.clock().now()), service.people());
    Ok(Json(cursor.answer(page.map(|row| UsageBucket::new(row, scale, &people)))))
}
