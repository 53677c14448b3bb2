//! Reports of usage: sums of day totals by what is asked for.

mod by;
mod rows;

pub use by::{By, ByError, Period};
pub use rows::{Block, RowKey, RowSums, Rows, Scale, TooMany};
