//! A fair-share server for compute clusters. `docs/ARCHITECTURE.md` describes the modules and the flow of data.

/// Threads free blocks that other threads took, which makes the allocator of glibc wait and hold on to memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod cli;
pub mod config;
pub use domain;
pub mod graphql;
pub mod jobs;
pub mod process;
pub mod rest;
pub mod server;
pub mod service;
pub mod store;
pub mod telemetry;
pub mod ui;
