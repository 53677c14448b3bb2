//! What an audit finds: the first row that is not what it should be.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub row: String,
    pub detail: String,
}
