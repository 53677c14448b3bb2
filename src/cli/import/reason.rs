//! The reasons why a row is not taken, and why a file ends early.

/// The largest number of nodes in all ranges of a capacities file together.
pub(super) const MAX_NODES: usize = 100_000;

/// The reason why a row was not taken. Fields have the names of the format's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum DropReason {
    #[error("a job step: its allocation's own line counts")]
    JobStep,
    #[error("part of a job whose own line counts")]
    PartialRun,
    #[error("not started yet: nothing to account")]
    NotStarted,
    #[error("cancelled before it started: nothing to account")]
    CancelledBeforeStart,
    #[error("run time unknown or negative")]
    NoRunTime,
    #[error("wait time negative")]
    NegativeWait,
    #[error("finished without an end time")]
    EndMissing,
    #[error("no start time, though its job ran")]
    StartMissing,
    #[error("ends before it starts")]
    EndBeforeStart,
    #[error("no job id")]
    NoJobId,
    #[error("no record of an accounting log")]
    OtherRecord,
    #[error("stands under a header line that lacks needed fields")]
    HeaderIncomplete,
    #[error("wrong number of fields")]
    FieldCount,
    #[error("a quote that the line does not close")]
    OpenQuote,
    #[error("{0} is not a time between the years 1970 and 9999")]
    BadTime(&'static str),
    #[error("{0} is not a number that it can be")]
    BadNumber(&'static str),
    #[error("{0} is not an amount from 0 to 10^21 with at most 12 decimals")]
    BadAmount(&'static str),
    #[error("no amount of any resource, though its job ran")]
    NoAmount,
    #[error("{0} is not a list of resources like cpu=8,mem=16G")]
    BadResources(&'static str),
    #[error("{0} name is too long or has characters that a name cannot have")]
    BadName(&'static str),
    #[error("more kinds of slots than a kernel may hold")]
    TooManySlots,
    #[error("too many different slot names")]
    TooManySlotNames,
    #[error("the agent is no range of nodes that can be read, like node[01-10], n[1-3,7] or a[1-2]b[1-2]")]
    BadNodeRange,
    #[error("ranges of nodes stand for more than {MAX_NODES} nodes")]
    TooManyNodes,
    #[error("shifted out of the years 1970 to 9999")]
    ShiftedOut,
    #[error("not valid UTF-8")]
    InvalidUtf8,
    #[error("longer than 1 MiB")]
    LineTooLong,
}

impl DropReason {
    /// True if a row that is dropped for this reason may be of a job that ran, so that its usage is missing.
    pub fn may_drop_usage(self) -> bool {
        let no_usage =
            [Self::JobStep, Self::PartialRun, Self::NotStarted, Self::CancelledBeforeStart, Self::OtherRecord];
        !no_usage.contains(&self)
    }
}

/// A row that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedRow {
    /// From 1 on; comments and blank lines are counted.
    pub line: u64,
    pub reason: DropReason,
}

/// The file stopped before its end: cut off, damaged or unreadable. Complete rows before that count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file ends early at line {line}: {cause}")]
pub struct EndedEarly {
    /// The line that could not be read completely.
    pub line: u64,
    pub cause: String,
}
