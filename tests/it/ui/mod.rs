//! The endpoints below `/ui`: the files of the web pages, and signing in.

mod files;
pub mod person;
mod session;
