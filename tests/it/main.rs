//! The one integration test binary.

mod accounting;
mod browser;
mod cli;
mod closed_loop;
mod connect;
mod crash;
mod demo;
mod division;
mod faults;
mod fuzz;
mod graphql;
mod house;
mod import;
mod memory;
mod queues;
mod reclaim;
mod rest;
mod support;
mod traces;
mod ui;
mod upgrade;

/// The rules under the name that files that the tests of the rules have in common with these use.
pub(crate) use fairshared::domain as rules;
