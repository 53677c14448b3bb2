//! What goes over the wire between the server and its clients: requests and answers.
//!
//! The server reads and writes these types, and the connectors and commands send and read them. So a client that compiles sends what
//! the server takes.

pub mod connector_round;
pub mod input_warning;
pub mod people_tree;
