//! What everyone used beside what weights entitle them to (FAIR_SHARE §11).

pub mod get;
pub mod history;
pub mod view;
