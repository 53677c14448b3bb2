//! Queues and the amounts that they deserve: worked examples, laws on random trees, hostile input.

mod brute;
mod documented;
mod drf;
mod examples;
mod hostile;
pub mod laws;
mod orders;
mod report;
mod support;
mod trace;
mod tree;
