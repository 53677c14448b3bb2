//! A fair-share server for compute clusters. `docs/ARCHITECTURE.md` describes the modules and the flow of data.

pub use api;
pub mod cli;
pub mod config;
pub use connectors;
pub use domain;
pub mod engine;
pub mod graphql;
pub mod jobs;
pub mod process;
pub mod rest;
pub mod server;
pub mod service;
pub mod store;
pub mod telemetry;
pub mod ui;
