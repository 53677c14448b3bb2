pub mod cli;
pub mod domain;
