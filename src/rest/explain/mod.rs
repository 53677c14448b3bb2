//! The reasons for the place of a domain, project or user (FAIR_SHARE §12).

pub mod get;
