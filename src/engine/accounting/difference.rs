//! The finding of an audit: the first row that is not as it should be.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageDifference {
    pub row: String,
    pub detail: String,
}
