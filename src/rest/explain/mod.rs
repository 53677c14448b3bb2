//! Why a domain, project or user stands where it stands (FAIR_SHARE §12).

pub mod get;
