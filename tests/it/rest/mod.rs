//! REST through the real router, over real databases.

mod access;
mod bad_input;
mod configuration;
mod connections;
pub mod contract;
mod division;
mod document;
mod documented;
mod groups;
mod kernels;
mod limited_keys;
mod lists;
mod messages;
mod operations;
mod people;
mod permits;
mod queues;
mod read_back;
mod records;
mod sequence;
mod serving;
mod simulations;
mod snapshots;
pub mod support;
mod together;
mod validators;
mod warnings;
