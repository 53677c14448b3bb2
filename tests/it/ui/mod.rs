//! What is below `/ui`: the files of the web pages, and signing in.

mod browser;
mod files;
mod person;
mod session;
