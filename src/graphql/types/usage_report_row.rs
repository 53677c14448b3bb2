//! Rows of a usage report as GraphQL shows them.

use std::collections::BTreeMap;

use async_graphql::{Object, SimpleObject};

use crate::domain::decimal::f64_text;
use crate::domain::slots::SlotMap;
use crate::graphql::scalars::{Date, JsonString, Uuid};
use crate::service::usage_report::{ReportRow, ReportTotals, slot_hours};

fn share_texts(shares: &SlotMap<f64>) -> JsonString {
    let parts = shares.iter().map(|(slot, part)| (slot.as_str(), f64_text(part)));
    JsonString::of(&parts.collect::<BTreeMap<_, _>>())
}

/// The figures of a report as a whole.
#[derive(SimpleObject)]
pub struct ReportWhole {
    /// Rows that match, on all pages together.
    pub count: u64,
    /// The usage of all rows together, those of other pages included.
    pub totals: UsageReportTotals,
}

/// The usage of all rows of a report together.
pub struct UsageReportTotals(pub ReportTotals);

#[Object(rename_fields = "snake_case")]
impl UsageReportTotals {
    /// Slot-seconds, exactly.
    async fn resource_usage(&self) -> JsonString {
        JsonString::of(&self.0.usage)
    }

    /// Slot-hours, to twelve decimals; `mem`, which counts bytes, in GiB-hours.
    async fn slot_hours(&self) -> JsonString {
        JsonString::of(&slot_hours(&self.0.usage))
    }

    /// The part of what there was to use in all days and groups of the report, today until now.
    async fn capacity_share(&self) -> JsonString {
        share_texts(&self.0.capacity_share)
    }
}

/// The usage in one row of a report. Columns that the report is not grouped by are null.
pub struct UsageReportRowNode(pub ReportRow);

#[Object(rename_fields = "snake_case")]
impl UsageReportRowNode {
    async fn resource_group(&self) -> Option<&str> {
        self.0.key.resource_group.as_deref()
    }

    /// The first day that the row sums, in UTC.
    async fn first_day(&self) -> Date {
        Date(self.0.first_day)
    }

    /// The last day, which is included.
    async fn last_day(&self) -> Date {
        Date(self.0.last_day)
    }

    /// The domain that the usage counted for.
    async fn domain_name(&self) -> Option<&str> {
        self.0.key.domain.as_deref()
    }

    /// The charge class that the usage was recorded with; empty: none.
    async fn charge_class(&self) -> Option<&str> {
        self.0.key.charge_class.as_deref()
    }

    async fn project_id(&self) -> Option<Uuid> {
        self.0.key.project.map(|id| Uuid(id.0))
    }

    async fn project_name(&self) -> Option<&str> {
        self.0.project_name.as_deref()
    }

    async fn user_uuid(&self) -> Option<Uuid> {
        self.0.key.user.map(|id| Uuid(id.0))
    }

    async fn user_name(&self) -> Option<&str> {
        self.0.user_name.as_deref()
    }

    /// Slot-seconds, exactly.
    async fn resource_usage(&self) -> JsonString {
        JsonString::of(&self.0.usage)
    }

    /// Slot-hours, to twelve decimals; `mem`, which counts bytes, in GiB-hours.
    async fn slot_hours(&self) -> JsonString {
        JsonString::of(&slot_hours(&self.0.usage))
    }

    /// The part of what there was to use, today until now.
    async fn capacity_share(&self) -> JsonString {
        share_texts(&self.0.capacity_share)
    }

    /// The part of what all together used in these days. Only of one resource group, and only where the report is of all its
    /// users.
    async fn used_share(&self) -> Option<String> {
        self.0.used_share.map(f64_text)
    }

    /// The shares that weights give to those with usage in these days.
    async fn entitled_share(&self) -> Option<String> {
        self.0.entitled_share.map(f64_text)
    }
}
