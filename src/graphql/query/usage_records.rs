//! The query for usage records.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::charges::charge_days;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::scalars::Uuid;
use crate::graphql::types::UsageRecordNode;
use crate::service::usage_records::{RECORD_LIST, RecordPeriod, RecordQuery};

#[derive(Default)]
pub struct UsageRecordQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl UsageRecordQuery {
    /// The usage records from `from` until `to` (instants, or days of which the last is included; at most 31 days), by
    /// kernel and then by time; for a domain the records that counted for it.
    async fn usage_records(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        from: String,
        to: String,
        user_uuid: Option<Uuid>,
        project_id: Option<Uuid>,
        domain_name: Option<String>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<UsageRecordNode>> {
        let window = PageArgs { first, last, before, after, offset }.window(RECORD_LIST, &resource_group)?;
        let (user, project) = {
            let people = service(ctx)?.people();
            let user = user_uuid.map(|id| people.user_of_uuid(id.0).to_string());
            (user, project_id.map(|id| people.project_of_uuid(id.0).to_string()))
        };
        let period = RecordPeriod::read(&from, &to)?;
        let users = service(ctx)?.group(caller(ctx)?, &resource_group)?.count_users();
        charge_days(ctx, guard::DATABASE_LIST_ROWS, users, period.count_days())?;
        let (user, project, domain) = (user.as_deref(), project.as_deref(), domain_name.as_deref());
        let query = RecordQuery { user, project, domain, period };
        let page = service(ctx)?.usage_records(caller(ctx)?, &resource_group, query, &window).await?;
        Ok(connect(ctx, &resource_group, page, UsageRecordNode)?)
    }
}
