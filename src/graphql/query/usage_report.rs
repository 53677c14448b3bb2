//! The query for usage reports.

use async_graphql::{Context, Enum, Object, Result};

use super::{caller, service};
use crate::graphql::charges::charge_days;
use crate::graphql::connection::{ListWith, PageArgs, connect_with};
use crate::graphql::guard;
use crate::graphql::scalars::Uuid;
use crate::graphql::types::{ReportWhole, UsageReportRowNode, UsageReportTotals};
use crate::service::VisibleGroup;
use crate::service::usage_report::{ReportRequest, UsageReport};

/// The columns that a report can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum UsageReportBy {
    ResourceGroup,
    Domain,
    Project,
    User,
    ChargeClass,
    Day,
    /// From Monday on.
    Week,
    Month,
}

impl UsageReportBy {
    fn word(self) -> &'static str {
        match self {
            Self::ResourceGroup => "resource_group",
            Self::Domain => "domain",
            Self::Project => "project",
            Self::User => "user",
            Self::ChargeClass => "charge_class",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

#[derive(Default)]
pub struct UsageReportQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl UsageReportQuery {
    /// The usage from the day `from` until the day `to`, which is included, in the resource groups together; without
    /// `resource_groups`, in all that the key reaches. `by` is users by default; an empty `charge_class` is that of usage without one.
    /// Rows are in the order of time, then from the largest usage on: of the first slot of `slots`, else of `cpu`.
    async fn usage_report(
        &self,
        ctx: &Context<'_>,
        resource_groups: Option<Vec<String>>,
        from: String,
        to: String,
        by: Option<Vec<UsageReportBy>>,
        slots: Option<Vec<String>>,
        domain_name: Option<String>,
        charge_class: Option<String>,
        user_uuid: Option<Uuid>,
        project_id: Option<Uuid>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<ListWith<UsageReportRowNode, ReportWhole>> {
        let by = by.map(|by| by.into_iter().map(UsageReportBy::word).collect::<Vec<_>>().join(","));
        let slots = slots.map(|slots| slots.join(","));
        let (user, project) = {
            let people = service(ctx)?.people();
            let user = user_uuid.map(|id| people.user_of_uuid(id.0).to_string());
            (user, project_id.map(|id| people.project_of_uuid(id.0).to_string()))
        };
        let asked = ReportRequest {
            from: &from,
            to: &to,
            by: by.as_deref(),
            slots: slots.as_deref(),
            domain: domain_name.as_deref(),
            charge_class: charge_class.as_deref(),
            user: user.as_deref(),
            project: project.as_deref(),
        };
        let question = service(ctx)?.report_question(caller(ctx)?, resource_groups, asked)?;
        let groups = service(ctx)?.groups(caller(ctx)?);
        let users = groups.iter().filter(|group| question.covers(&group.name)).map(VisibleGroup::count_users).sum();
        charge_days(ctx, guard::REPORT_ROWS, users, question.range.count_days())?;
        let scope = question.scope();
        let window = PageArgs { first, last, before, after, offset }.window(UsageReport::LIST, &scope)?;
        let report = service(ctx)?.usage_report(caller(ctx)?, &question).await?;
        let page = report.page(&window);
        let whole = ReportWhole { count: page.total, totals: UsageReportTotals(report.totals) };
        Ok(connect_with(ctx, &scope, page, whole, UsageReportRowNode)?)
    }
}
