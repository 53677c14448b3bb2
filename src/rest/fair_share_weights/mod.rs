//! Weights that admins set (§7).

pub mod get;
pub mod put;
pub mod view;
