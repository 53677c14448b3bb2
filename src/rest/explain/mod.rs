//! Why somebody stands where they stand (FAIR_SHARE §12).

pub mod get;
