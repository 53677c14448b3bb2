//! Weights that admins set (FAIR_SHARE §7).

pub mod get;
pub mod put;
pub mod view;
