//! The order of the rows of a report: by time, then by usage from the largest on, then by names.
//!
//! Usage is compared slot by slot, exactly: first the slots in `slots`, or `cpu` if there are none, then the others.
//! Rows with equal usage of every slot are ordered by their names, then by their ids.

use std::cmp::{Ordering, Reverse};

use uuid::Uuid;

use super::{ReportQuestion, ReportRow};
use crate::domain::decimal::Usage;
use crate::domain::slots::SlotName;
use crate::service::input::page::CursorKey;

/// The slot that rows are compared by if the request names no slots.
const USUAL_SLOT: &str = "cpu";

/// The slots by which the rows of a report are compared, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowOrder(Vec<SlotName>);

impl RowOrder {
    pub(super) fn of(question: &ReportQuestion, rows: &[ReportRow]) -> Self {
        let mut slots: Vec<SlotName> = Vec::new();
        for (slot, _) in rows.iter().flat_map(|row| row.usage.iter()) {
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        slots.sort_unstable();
        let place = |slot: &SlotName| match &question.slots {
            Some(named) => named.iter().position(|name| name == slot.as_str()).unwrap_or(usize::MAX),
            None => usize::from(slot.as_str() != USUAL_SLOT),
        };
        slots.sort_by_key(place);
        Self(slots)
    }

    pub(super) fn compare(&self, a: &ReportRow, b: &ReportRow) -> Ordering {
        let by_usage = || {
            let used = |row: &ReportRow, slot: &SlotName| Reverse(row.usage.get(*slot).unwrap_or_default());
            let unequal = self.0.iter().map(|slot| used(a, slot).cmp(&used(b, slot))).find(|order| order.is_ne());
            unequal.unwrap_or(Ordering::Equal)
        };
        a.key.first_day.cmp(&b.key.first_day).then_with(by_usage).then_with(|| name_key(a).cmp(&name_key(b)))
    }

    /// The position of a row as cursors of pages contain it. Positions compare like rows.
    pub(super) fn place(&self, row: &ReportRow) -> Vec<CursorKey> {
        let day = row.key.first_day.map(|day| CursorKey::Number(i64::from(day.0).abs_diff(i64::from(i32::MIN))));
        let used = self.0.iter().map(|slot| CursorKey::Text(descending_key(row.usage.get(*slot).unwrap_or_default())));
        let (names, ids) = name_key(row);
        let names = names.into_iter().map(|name| CursorKey::Text(name.unwrap_or_default().to_owned()));
        let ids = ids.into_iter().map(|id| CursorKey::Text(id.map(|id| id.to_string()).unwrap_or_default()));
        day.into_iter().chain(used).chain(names).chain(ids).collect()
    }
}

/// The key of rows with the same usage: the shown names, then the ids.
fn name_key(row: &ReportRow) -> ([Option<&str>; 5], [Option<Uuid>; 2]) {
    (
        [
            row.key.resource_group.as_deref(),
            row.key.domain.as_deref(),
            row.project_name.as_deref(),
            row.user_name.as_deref(),
            row.key.charge_class.as_deref(),
        ],
        [row.key.project.map(|id| id.0), row.key.user.map(|id| id.0)],
    )
}

/// A text that sorts before the text of every smaller usage. It consists of the number of digits and the digits, all
/// counted down from nine, and an end that sorts after all digits, so that `0.55` comes before `0.5`.
fn descending_key(usage: Usage) -> String {
    let text = usage.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = whole.bytes().chain(fraction.bytes()).map(|digit| char::from(b'0' + (b'9' - digit)));
    let mut key = format!("{:02}", 99_usize.saturating_sub(whole.len()));
    key.extend(digits);
    key.push('~');
    key
}
