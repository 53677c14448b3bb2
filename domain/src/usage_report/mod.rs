//! Reports of usage: sums of day totals, grouped by the requested columns.

mod by;
mod rows;

pub use by::{ByError, ReportColumns, ReportPeriod};
pub use rows::{GroupedRows, RowKey, RowSums, ShareScale, TooMany, UsageBlock};
