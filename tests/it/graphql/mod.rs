//! GraphQL over HTTP, on real databases: the proposal's examples as printed, and everything around them.

mod schema;
