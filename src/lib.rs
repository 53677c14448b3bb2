pub mod cli;
pub mod domain;
pub mod store;
