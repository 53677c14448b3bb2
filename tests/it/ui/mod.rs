//! What is below `/ui`: the files of the web pages, and signing in.

mod files;
mod person;
mod session;
