//! Rows of jobs that ran, without an amount of anything.

/// The treatment of a row whose job ran and that has no amount of anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MissingAmounts {
    Dropped,
    /// The row is taken as a job without usage. Tables that are made for the import may leave amounts unknown.
    Taken,
}
