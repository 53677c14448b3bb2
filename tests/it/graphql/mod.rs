//! GraphQL over HTTP, on real databases: the proposal's examples as printed, and everything around them.

mod access;
mod bad_input;
mod explain;
mod filters;
mod groups;
mod http;
mod limits;
mod mutations;
mod nodes;
mod operations;
mod over_http;
mod paging;
mod people;
mod queues;
mod scenarios;
mod schema;
mod simulations;
mod support;
