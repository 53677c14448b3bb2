//! The rejected rows of an ingest. Rows with equal faults are one item of the answer, because a scheduler that makes a
//! mistake mostly makes it in every row.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::row_counting::RowCounting;
use crate::api::kernels::{IngestAnswer, RejectedItem, RejectedRow};
use crate::service::Fault;

/// The largest number of rejected rows that an answer lists, in all items together.
const MAX_LISTED_ROWS: usize = 10_000;

/// A rejected row, before the answer numbers it.
struct RowPlace {
    place: u64,
    kernel_id: Option<Uuid>,
}

/// The rows with the same faults.
struct EqualRejections {
    count: u64,
    /// The rows that the answer lists.
    rows: Vec<RowPlace>,
}

/// All rejected rows, by their faults.
#[derive(Default)]
pub struct RejectedRows {
    rejected: u64,
    codes: BTreeMap<&'static str, u64>,
    by_faults: HashMap<Vec<Fault>, EqualRejections>,
    listed: usize,
}

impl RejectedRows {
    /// True if the answer lists no more rows.
    pub fn is_full(&self) -> bool {
        self.listed >= MAX_LISTED_ROWS
    }

    /// Adds a row. The first of its faults gives the code that the row is counted by.
    pub fn add(&mut self, place: u64, kernel_id: Option<Uuid>, faults: Vec<Fault>) {
        self.rejected += 1;
        if let Some(fault) = faults.first() {
            *self.codes.entry(fault.code).or_default() += 1;
        }
        let is_full = self.is_full();
        if let Some(equal) = self.by_faults.get_mut(&faults) {
            equal.count += 1;
            if !is_full {
                equal.rows.push(RowPlace { place, kernel_id });
                self.listed += 1;
            }
        } else if !is_full {
            self.by_faults.insert(faults, EqualRejections { count: 1, rows: vec![RowPlace { place, kernel_id }] });
            self.listed += 1;
        }
    }

    /// Writes the rows into the answer, in the order of their first rows.
    pub fn write_to(self, answer: &mut IngestAnswer, counting: RowCounting) {
        answer.rejected = self.rejected;
        answer.rejected_codes = self.codes;
        let items = self.by_faults.into_iter().filter_map(|(faults, equal)| equal.into_item(faults, counting));
        answer.errors = items.collect();
        answer.errors.sort_by_key(|item| (item.index, item.line));
    }
}

impl EqualRejections {
    fn into_item(mut self, errors: Vec<Fault>, counting: RowCounting) -> Option<RejectedItem> {
        self.rows.sort_by_key(|row| row.place);
        let &RowPlace { place, kernel_id } = self.rows.first()?;
        let (index, line) = counting.number(place);
        let is_one = self.count == 1;
        let listed = self.rows.iter().filter(|_| !is_one);
        let rows = listed.map(|row| row.numbered(errors.first(), counting)).collect();
        Some(RejectedItem { index, line, kernel_id, errors, count: (!is_one).then_some(self.count), rows })
    }
}

impl RowPlace {
    fn numbered(&self, fault: Option<&Fault>, counting: RowCounting) -> RejectedRow {
        let (index, line) = counting.number(self.place);
        let pointer = index.map(|index| format!("/{index}{}", fault.map_or("", |fault| &fault.pointer)));
        RejectedRow { index, line, kernel_id: self.kernel_id, pointer }
    }
}
