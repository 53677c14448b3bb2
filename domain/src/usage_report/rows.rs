//! The rows of a report, filled with day totals that arrive ordered by group and day.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::by::ReportColumns;
use crate::ids::{Member, ProjectId, UserId};
use crate::maps::FastMap;
use crate::normalize::UsageNormalizer;
use crate::slots::SlotUsages;
use crate::time::Day;
use crate::usage_dimensions::UsageDimensions;

/// The key of a row. Columns that were not requested are absent. Rows have the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    pub resource_group: Option<Arc<str>>,
    /// The first day of the row's period that is in the range of the report.
    pub first_day: Option<Day>,
    pub domain: Option<Arc<str>>,
    pub project: Option<ProjectId>,
    pub user: Option<UserId>,
    /// Empty for usage without a class.
    pub charge_class: Option<Arc<str>>,
}

/// The sums of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowSums {
    pub usage: SlotUsages,
    /// The part of its group's usage in the period, with each slot as a part of the capacity; `None` if it was not
    /// requested.
    pub used_share: Option<f64>,
    /// The share by weight among the members that used something in the period.
    pub entitled_share: Option<f64>,
}

/// The error of a report with more rows than one answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// The usage in one group and one period, by member and dimensions.
#[derive(Clone, Debug, Default)]
pub struct UsageBlock(FastMap<(Member, UsageDimensions), SlotUsages>);

impl UsageBlock {
    pub fn add(&mut self, place: &(Member, UsageDimensions), usage: &SlotUsages) {
        match self.0.get_mut(place) {
            Some(sum) => sum.add(usage),
            None => {
                self.0.insert(place.clone(), usage.clone());
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (Member, &UsageDimensions, &SlotUsages)> {
        self.0.iter().map(|((member, dimensions), usage)| (*member, dimensions, usage))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The measures of shares in one group and one period.
#[derive(Clone, Debug)]
pub struct ShareScale {
    /// Normalises usage by the capacity of the period.
    pub normalizer: UsageNormalizer,
    /// The part of the group that each member is entitled to.
    pub entitled: FastMap<Member, f64>,
}

/// The rows so far.
#[derive(Clone, Debug)]
pub struct GroupedRows {
    by: ReportColumns,
    most: usize,
    sums: BTreeMap<RowKey, RowSums>,
}

impl GroupedRows {
    /// An empty report that never gets more than `most` rows.
    pub fn new(by: ReportColumns, most: usize) -> Self {
        Self { by, most, sums: BTreeMap::new() }
    }

    /// Adds the usage of a group in the period that begins on `first_day`.
    pub fn take(
        &mut self,
        group: &Arc<str>,
        first_day: Day,
        block: &UsageBlock,
        scale: Option<&ShareScale>,
    ) -> Result<(), TooMany> {
        // A fixed order, so that sums of floats are always the same.
        let mut places: Vec<_> = block.iter().collect();
        places.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let used: Vec<f64> =
            places.iter().map(|place| scale.map_or(0.0, |scale| scale.normalizer.normalized(place.2))).collect();
        let total: f64 = used.iter().sum();
        let mut at = 0;
        for of_member in places.chunk_by(|a, b| a.0 == b.0) {
            let of_these = &used[at..at + of_member.len()];
            at += of_member.len();
            let in_all: f64 = of_these.iter().sum();
            for ((member, dimensions, usage), used) in of_member.iter().zip(of_these) {
                let row = self.sums.entry(self.key(group, first_day, *member, dimensions)).or_default();
                row.usage.add(usage);
                if let Some(scale) = scale {
                    let entitled = scale.entitled.get(member).copied().unwrap_or(0.0);
                    // The entitled share of a member with usage of several domains or classes is divided by the usage in
                    // each of them.
                    let part = if in_all > 0.0 { used / in_all } else { 1.0 / of_member.len() as f64 };
                    *row.entitled_share.get_or_insert_default() += entitled * part;
                    *row.used_share.get_or_insert_default() += if total > 0.0 { used / total } else { 0.0 };
                }
            }
            if self.sums.len() > self.most {
                return Err(TooMany);
            }
        }
        Ok(())
    }

    fn key(&self, group: &Arc<str>, first_day: Day, member: Member, dimensions: &UsageDimensions) -> RowKey {
        let ReportColumns { resource_group, domain, project, user, charge_class, period } = self.by;
        RowKey {
            resource_group: resource_group.then(|| Arc::clone(group)),
            first_day: period.map(|_| first_day),
            domain: domain.then(|| Arc::clone(&dimensions.domain)),
            project: project.then_some(member.project),
            user: user.then_some(member.user),
            charge_class: charge_class.then(|| Arc::clone(&dimensions.charge_class)),
        }
    }

    pub fn into_rows(self) -> BTreeMap<RowKey, RowSums> {
        self.sums
    }
}
