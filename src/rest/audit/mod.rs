//! The proof that usage is conserved (FAIR_SHARE §5).

pub mod get;
pub mod view;
