//! The types that go over the wire between the server and its clients, and the client that sends them.
//!
//! The server reads and writes these types, and connectors and commands send and read them. Where clients read only a part of an
//! answer, or send what the server reads in a form of its own, both forms stand side by side in one file.

pub mod agents;
pub mod client;
pub mod connector_round;
pub mod group_facts;
pub mod input_warning;
pub mod kernels;
pub mod key_rights;
pub mod people_tree;
pub mod problem;
pub mod sequence;
