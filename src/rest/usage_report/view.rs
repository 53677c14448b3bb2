//! The parameters of a usage report, and its rows as REST shows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::decimal::{Amount, f64_text};
use crate::domain::slots::{SlotMap, SlotUsages};
use crate::domain::time::Day;
use crate::rest::list::{List, ListCursor};
use crate::rest::owner::ProjectAndUser;
use crate::rest::problem::Result;
use crate::service::input::page::PageWindow;
use crate::service::usage_report::{ReportQuestion, ReportRequest, ReportRow, ReportTotals, UsageReport, slot_hours};

/// The parameters of a report.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// The first day, in UTC.
    #[param(example = "2026-01-13", format = Date)]
    pub from: String,
    /// The last day, in UTC, which is included: at most today.
    #[param(example = "2026-01-13", format = Date)]
    pub to: String,
    /// The columns to group by: `resource_group`, `domain`, `project`, `user`, `charge_class`, and one of `day`, `week`
    /// (from Monday on) and `month`, with commas between; `user` by default.
    #[param(example = "project,month")]
    pub by: Option<String>,
    /// Only these slots, with commas between. Rows are in the order of the usage of the first one; without it, of `cpu`.
    #[param(example = "cpu,mem")]
    pub slots: Option<String>,
    /// Only what counted for the domain of this name. Then `used_share` and `entitled_share` are left out.
    pub domain: Option<String>,
    /// Only what was recorded with this charge class; empty: without one. Then `used_share` and `entitled_share` are left out.
    pub charge_class: Option<String>,
    /// Only what this user used: a name or UUID. Then `used_share` and `entitled_share` are left out.
    pub user: Option<String>,
    /// Only what was used in this project: a name or UUID. Then `used_share` and `entitled_share` are left out.
    pub project: Option<String>,
    /// Rows of a page, 1 to 1000. Without `limit` and `cursor` all rows are in one answer.
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl ReportQuery {
    pub fn asked(&self) -> ReportRequest<'_> {
        ReportRequest {
            from: &self.from,
            to: &self.to,
            by: self.by.as_deref(),
            slots: self.slots.as_deref(),
            domain: self.domain.as_deref(),
            charge_class: self.charge_class.as_deref(),
            user: self.user.as_deref(),
            project: self.project.as_deref(),
        }
    }

    /// The page in the query; `None`: all rows.
    pub fn page(&self, question: &ReportQuestion) -> Result<Option<ReportPage>> {
        if self.limit.is_none() && self.cursor.is_none() {
            return Ok(None);
        }
        let cursor = ListCursor::new(UsageReport::LIST, question.scope());
        let window = cursor.window(self.limit, self.cursor.as_deref())?;
        Ok(Some(ReportPage { cursor, window }))
    }
}

/// A page of a report.
pub struct ReportPage {
    cursor: ListCursor,
    window: PageWindow,
}

/// A report, or a page of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageReportAnswer {
    #[serde(flatten)]
    pub list: List<UsageReportRow>,
    pub totals: UsageReportTotals,
}

/// The usage of all rows of the report together, those of other pages included.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"resource_usage": {"cpu": "7200"}, "slot_hours": {"cpu": "2"}, "capacity_share": {"cpu": "0.25"}}))]
pub struct UsageReportTotals {
    /// Slot-seconds, exactly.
    #[schema(value_type = BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// Slot-hours, to twelve decimals; `mem`, which counts bytes, in GiB-hours.
    #[schema(value_type = BTreeMap<String, String>)]
    pub slot_hours: SlotMap<Amount>,
    /// The part of what there was to use in all days and groups of the report, today until now; slots without capacity are left out.
    pub capacity_share: BTreeMap<&'static str, String>,
}

impl From<&ReportTotals> for UsageReportTotals {
    fn from(totals: &ReportTotals) -> Self {
        Self {
            slot_hours: slot_hours(&totals.usage),
            capacity_share: share_texts(&totals.capacity_share),
            resource_usage: totals.usage.clone(),
        }
    }
}

fn share_texts(shares: &SlotMap<f64>) -> BTreeMap<&'static str, String> {
    shares.iter().map(|(slot, part)| (slot.as_str(), f64_text(part))).collect()
}

/// The rows of the page, or all rows, and the totals.
pub fn answer(page: Option<&ReportPage>, report: UsageReport) -> UsageReportAnswer {
    let totals = UsageReportTotals::from(&report.totals);
    let list = match page {
        Some(ReportPage { cursor, window }) => cursor.answer(report.page(window)),
        None => List::whole(report.rows.into_iter().map(UsageReportRow::from).collect()),
    };
    UsageReportAnswer { list, totals }
}

/// The usage in one row of the report. Columns that the report is not grouped by are absent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "first_day": "2026-10-01", "last_day": "2026-10-31", "project_id": "0b8a1c52-7c59-4d6f-8d1e-5b2a3c4d5e6f",
    "project_name": "climate", "resource_usage": {"cpu": "7200"}, "slot_hours": {"cpu": "2"},
    "capacity_share": {"cpu": "0.25"}, "used_share": "0.5", "entitled_share": "0.5"
}))]
pub struct UsageReportRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub resource_group: Option<Arc<str>>,
    /// The days that the row sums, in UTC, both included.
    #[schema(value_type = String, format = Date)]
    pub first_day: Day,
    #[schema(value_type = String, format = Date)]
    pub last_day: Day,
    /// The domain that the usage counted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub domain_name: Option<Arc<str>>,
    /// The charge class that the usage was recorded with; empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub charge_class: Option<Arc<str>>,
    #[serde(flatten)]
    pub of: ProjectAndUser,
    /// Slot-seconds, exactly.
    #[schema(value_type = BTreeMap<String, String>)]
    pub resource_usage: SlotUsages,
    /// Slot-hours, to twelve decimals; `mem`, which counts bytes, in GiB-hours.
    #[schema(value_type = BTreeMap<String, String>)]
    pub slot_hours: SlotMap<Amount>,
    /// The part of what there was to use, today until now; slots without capacity are left out.
    pub capacity_share: BTreeMap<&'static str, String>,
    /// The part of what all together used in these days, each slot as a part of its capacity, by `resource_weights`. Only of one
    /// resource group, and only where the report is of all its users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_share: Option<String>,
    /// The shares that weights give to those with usage in these days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entitled_share: Option<String>,
}

impl From<ReportRow> for UsageReportRow {
    fn from(row: ReportRow) -> Self {
        Self {
            slot_hours: slot_hours(&row.usage),
            capacity_share: share_texts(&row.capacity_share),
            resource_group: row.key.resource_group,
            first_day: row.first_day,
            last_day: row.last_day,
            domain_name: row.key.domain,
            charge_class: row.key.charge_class,
            of: ProjectAndUser {
                project_id: row.key.project.map(|id| id.0),
                project_name: row.project_name,
                user_uuid: row.key.user.map(|id| id.0),
                user_name: row.user_name,
            },
            resource_usage: row.usage,
            used_share: row.used_share.map(f64_text),
            entitled_share: row.entitled_share.map(f64_text),
        }
    }
}
