pub mod cli;
pub mod domain;
pub mod service;
pub mod store;
