//! `GET /resource-groups/{rg}/fair-share-status`: the ranking of the group's users, or the place of one user.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::tiers::{Ranking, page};
use super::view::{FairShareStatus, SingleUserStatus, UserStatus};
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::ranking::PlacedRow;
use crate::engine::group::snapshots::rows::UserShare;
use crate::engine::people::lookup;
use crate::rest::etag::{SeenTags, fresh_or};
use crate::rest::extract::{PathParams, QueryParams, json_response, json_text};
use crate::rest::list::List;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::people::RequestNames;
use crate::service::shares::UserPlace;
use crate::service::{Caller, Error, Service, VisibleGroup};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatusQuery {
    /// One user instead of the ranking: the keys describe the best-ranked project.
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// Only with a user: the keys describe this project instead.
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    /// Rows of a page, 1 to 1000. Without `limit` and `cursor` everybody is in one answer.
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The ranking of the group's users, or one user's place in it.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fair-share-status", operation_id = "get_fair_share_status", tag = "Fair share",
    params(GroupPath, StatusQuery, ("If-None-Match" = Option<String>, Header, description = "An `ETag` seen before.")),
    responses(
        (status = 200, body = FairShareStatus, headers(("ETag" = String, description = "For `If-None-Match`."))),
        (status = 304, description = "Unchanged since that `ETag`.")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<StatusQuery>,
    seen: SeenTags,
) -> Result<Response> {
    let group = service.group(&caller, &path.rg)?;
    if let Ok(answers) = group.answers()
        && query.is_everything()
    {
        let rows = if answers.ranking.is_written() { 0 } else { group.count_users() };
        let answer =
            || Ok(fresh_or(&seen, &group.etag(), || json_response(answers.ranking.json(|| all_users(&group)))));
        return Ok(service.permits.scan(caller.client(), rows, answer).await?);
    }
    let (user, project) = {
        let (people, fault) = (service.people(), |fault| Error::Invalid(vec![fault]));
        let user = lookup::some_user(&people, query.user_uuid.map(UserId), query.user.as_deref()).map_err(fault)?;
        (user, lookup::some_project(&people, query.project_id.map(ProjectId), query.project.as_deref()).map_err(fault)?)
    };
    let status = match (user, project) {
        (Some(user), project) if query.limit.is_none() && query.cursor.is_none() => {
            let mut called = RequestNames::by(&caller);
            called.user("", "user_uuid", query.user.as_deref());
            called.project("", "project_id", query.project.as_deref());
            let place = single_user(&service, &group, user, project).await;
            FairShareStatus::User(Box::new(place.map_err(|error| called.with_given_names(error, &service.people()))?))
        }
        (Some(_), _) => {
            return Err(contradiction_problem(
                "/user_uuid",
                "does not go with `limit` and `cursor`: one user has no pages",
            ));
        }
        (None, Some(_)) => return Err(contradiction_problem("/project_id", "goes with `user_uuid` only")),
        (None, None) => FairShareStatus::Ranking(tier_ranking(&service, &group, &query).await?),
    };
    Ok(fresh_or(&seen, &group.etag(), || json_response(json_text(&status))))
}

impl StatusQuery {
    fn is_everything(&self) -> bool {
        let Self { user_uuid, user, project_id, project, limit, cursor } = self;
        user_uuid.is_none()
            && user.is_none()
            && project_id.is_none()
            && project.is_none()
            && limit.is_none()
            && cursor.is_none()
    }
}

/// The rows of all users that the caller may see.
fn all_users(group: &VisibleGroup) -> Ranking<UserStatus> {
    Ranking::new(group, List::whole(group.ranking().map(|row| UserStatus::new(group, &row, None)).collect()))
}

fn contradiction_problem(pointer: &str, said: &str) -> crate::rest::problem::Problem {
    Error::about(pointer, "contradiction", said).into()
}

async fn tier_ranking(service: &Service, group: &VisibleGroup, query: &StatusQuery) -> Result<Ranking<UserStatus>> {
    if query.limit.is_none() && query.cursor.is_none() {
        return Ok(service.permits.scan(group.access().client(), group.count_users(), || Ok(all_users(group))).await?);
    }
    let (of, window) = (("user", group.count_users()), (query.limit, query.cursor.as_deref()));
    let rows = page(service, group, of, window, |list| Ok(group.user_shares(None, list).page(&list.window))).await?;
    let before = service.previous_ranks(group).await;
    let status =
        |row: PlacedRow<UserShare>| UserStatus::new(group, &row, before.get(&Owner::User(row.member)).copied());
    Ok(Ranking::new(group, rows.map(status)))
}

async fn single_user(
    service: &Service,
    group: &VisibleGroup,
    user: UserId,
    project: Option<ProjectId>,
) -> std::result::Result<SingleUserStatus, Error> {
    let place = match project {
        None => service.user_place(group, user).await?,
        Some(project) => {
            let row = service.user_share(group, Member { user, project }).await?;
            let unknown = || {
                let (code, detail) = if service.knows_user(group, user) {
                    ("unknown_project", format!("there is no project {project}"))
                } else {
                    ("unknown_user", format!("there is no user {user}"))
                };
                Error::NotFound { code, detail }
            };
            UserPlace::Row(row.ok_or_else(unknown)?)
        }
    };
    let memberships = group.memberships(user)?;
    let before = service.previous_ranks(group).await;
    Ok(SingleUserStatus::new(group, user, place, &memberships, &before))
}
