//! GraphQL: the schema of the proposal and what it uses without defining.
