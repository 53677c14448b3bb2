//! The proof that usage is conserved (§5).

pub mod get;
pub mod view;
