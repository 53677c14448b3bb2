//! Reports of usage: sums of day totals, grouped by the requested columns.

mod by;
mod rows;

pub use by::{By, ByError, Period};
pub use rows::{Block, RowKey, RowSums, Rows, Scale, TooMany};
