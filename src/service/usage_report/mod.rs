//! Reports of usage in a range of days, by domain, project, user, charge class, day, week or month, in one group or several.

mod entitlement;
mod offered;
mod order;
mod question;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use offered::{OfRows, OfferedCapacity};
use order::RowOrder;
pub use question::{DayRange, ReportQuestion, ReportRequest};

use super::input::page::{Page, PageWindow, cut_window};
use super::{Caller, Error, Result, Service, VisibleGroup};
use crate::domain::decimal::{Amount, Usage};
use crate::domain::mebibytes::MEMORY_SLOT;
use crate::domain::slots::{SlotMap, SlotName, SlotUsages};
use crate::domain::time::{Day, MICROS_PER_HOUR};
use crate::domain::usage_report::{GroupedRows, ReportColumns, RowKey, RowSums, UsageBlock};
use crate::engine::people::PeopleDirectory;
use crate::engine::work::run_blocking;
use crate::store::capacity;
use crate::store::day_totals::reports::{self, TotalsQuery};

/// The largest number of rows in a report.
const MAX_ROWS: usize = 100_000;
const BYTES_PER_GIB: u64 = 1 << 30;

/// One row of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportRow {
    pub key: RowKey,
    /// The days that the row sums up, both included.
    pub first_day: Day,
    pub last_day: Day,
    pub project_name: Option<Arc<str>>,
    pub user_name: Option<Arc<str>>,
    /// Slot-seconds.
    pub usage: SlotUsages,
    /// The used part of the capacity, for each slot that has one.
    pub capacity_share: SlotMap<f64>,
    pub used_share: Option<f64>,
    pub entitled_share: Option<f64>,
}

/// The sums over all rows of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportTotals {
    /// Slot-seconds.
    pub usage: SlotUsages,
    /// The used part of the capacity, for each slot that has one.
    pub capacity_share: SlotMap<f64>,
}

/// Slot-hours with twelve decimals; for memory GiB-hours.
pub fn slot_hours(usage: &SlotUsages) -> SlotMap<Amount> {
    let hour = MICROS_PER_HOUR.unsigned_abs();
    let hours = usage.iter().map(|(slot, usage)| {
        let micros = if slot.as_str() == MEMORY_SLOT { hour * BYTES_PER_GIB } else { hour };
        (slot, usage.mean_over(micros))
    });
    hours.collect()
}

/// The used part of `offered`, for each slot in it.
fn capacity_share(usage: &SlotUsages, offered: &SlotUsages) -> SlotMap<f64> {
    let part = |(slot, used): (SlotName, Usage)| {
        let capacity = offered.get(slot).filter(|capacity| !capacity.is_zero())?;
        Some((slot, used.to_f64() / capacity.to_f64()))
    };
    usage.iter().filter_map(part).collect()
}

/// A report.
#[derive(Clone, Debug)]
pub struct UsageReport {
    pub range: DayRange,
    pub by: ReportColumns,
    /// The rows in the order of [`RowOrder`].
    pub rows: Vec<ReportRow>,
    pub totals: ReportTotals,
    order: RowOrder,
}

impl UsageReport {
    /// The name of the rows of a report in page cursors.
    pub const LIST: &'static str = "usage-report";

    /// A page of the rows.
    pub fn page(&self, window: &PageWindow) -> Page<ReportRow> {
        cut_window(Self::LIST, &self.rows, |row| self.order.place(row), window)
    }
}

impl Service {
    /// A report over the requested groups, limited to usage that the caller may see.
    #[tracing::instrument(name = "service.usage_report", level = "debug", skip_all, err(level = "debug"))]
    pub async fn usage_report(&self, caller: &Caller, question: &ReportQuestion) -> Result<UsageReport> {
        let mut groups = match &question.groups {
            Some(names) => names.iter().map(|name| self.group(caller, name)).collect::<Result<Vec<_>>>()?,
            None => self.groups(caller),
        };
        groups.sort_by_key(|group| group.key.0);
        groups.dedup_by_key(|group| group.key.0);
        let user = question.user.or(caller.only_user());
        if let Some(user) = user {
            caller.require_user(user)?;
        }
        let _permit = self.report_permits.acquire(caller.client()).await?;
        let DayRange { from, to } = question.range;
        let wanted = TotalsQuery {
            groups: groups.iter().map(|group| group.key).collect(),
            from,
            to,
            domain: question.domain.clone(),
            charge_class: question.charge_class.clone(),
            user,
            project: question.project,
        };
        let names: Vec<Arc<str>> = groups.iter().map(|group| Arc::clone(&group.name)).collect();
        let known = capacity::capacities_until(&self.reads_for(caller.client()), &names, to).await?;
        let offered = OfferedCapacity::of(&known, &names, question, self.trusted_now());
        // A share of the usage is known only if all usage is read, and only within one group.
        let names_none = question.domain.is_none() && question.charge_class.is_none() && question.project.is_none();
        let has_all = names_none && user.is_none();
        let has_shares = has_all && (groups.len() == 1 || question.by.resource_group);
        let mut report = InProgress {
            question,
            groups: &groups,
            offered: &offered,
            has_shares,
            rows: GroupedRows::new(question.by, MAX_ROWS),
            block: UsageBlock::default(),
            of_block: None,
        };
        let mut full = false;
        reports::for_each_total(&self.reads_for(caller.client()), &wanted, |total| {
            full = !report.take(&total);
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .await?;
        if full || !report.close() {
            let said = format!("would have more than {MAX_ROWS} rows; ask for fewer days, or by less");
            return Err(Error::about("/by", "too_many_rows", said));
        }
        Ok(run_blocking(|| self.sorted(question, &offered, report.rows.into_rows())))
    }

    /// Builds the report from the sums of its rows.
    fn sorted(
        &self,
        question: &ReportQuestion,
        offered: &OfferedCapacity,
        sums: BTreeMap<RowKey, RowSums>,
    ) -> UsageReport {
        let mut found = OfRows::default();
        let people = self.people();
        let row = |(key, sums)| report_row(&people, question, offered.of_row(&key, &mut found), key, &sums);
        let mut rows: Vec<ReportRow> = sums.into_iter().map(row).collect();
        let order = RowOrder::of(question, &rows);
        rows.sort_by(|a, b| order.compare(a, b));
        let mut usage = SlotUsages::default();
        for row in &rows {
            usage.add(&row.usage);
        }
        let totals = ReportTotals { capacity_share: capacity_share(&usage, &offered.of_all()), usage };
        UsageReport { range: question.range, by: question.by, rows, totals, order }
    }
}

fn report_row(
    people: &PeopleDirectory,
    question: &ReportQuestion,
    offered: &SlotUsages,
    key: RowKey,
    sums: &RowSums,
) -> ReportRow {
    let DayRange { from, to } = question.range;
    let period = question.by.period.zip(key.first_day);
    let (first_day, last_day) = period.map_or((from, to), |(period, day)| (day, period.last(day).min(to)));
    let usage: SlotUsages = sums.usage.iter().filter(|(slot, _)| question.shows(*slot)).collect();
    ReportRow {
        first_day,
        last_day,
        project_name: key.project.and_then(|id| people.project_name(id)),
        user_name: key.user.and_then(|id| people.user_name(id)),
        capacity_share: capacity_share(&usage, offered),
        usage,
        used_share: sums.used_share,
        entitled_share: sums.entitled_share,
        key,
    }
}

/// A report while totals are read.
struct InProgress<'a> {
    question: &'a ReportQuestion,
    groups: &'a [VisibleGroup],
    offered: &'a OfferedCapacity<'a>,
    has_shares: bool,
    rows: GroupedRows,
    /// The totals of one group and one period.
    block: UsageBlock,
    /// The index of the group in `groups`, and the first day of the period.
    of_block: Option<(usize, Day)>,
}

impl InProgress<'_> {
    /// Adds a total. Returns false if the report has too many rows.
    fn take(&mut self, total: &reports::DayTotal) -> bool {
        let Ok(at) = self.groups.binary_search_by_key(&total.group.0, |group| group.key.0) else { return true };
        let of_block = Some((at, self.question.first_day(total.day)));
        if self.of_block != of_block {
            if !self.close() {
                return false;
            }
            self.of_block = of_block;
        }
        self.block.add(&total.place, &total.usage);
        true
    }

    /// Turns the gathered totals into rows. Returns false if there are too many.
    fn close(&mut self) -> bool {
        let block = std::mem::take(&mut self.block);
        let Some((at, first_day)) = self.of_block else { return true };
        let group = &self.groups[at];
        let capacity = self.offered.mean(&group.name, first_day);
        let has_shares = self.has_shares && !capacity.is_empty();
        let scale = has_shares.then(|| entitlement::scale(group, &capacity, &block));
        self.rows.take(&group.name, first_day, &block, scale.as_ref()).is_ok()
    }
}
