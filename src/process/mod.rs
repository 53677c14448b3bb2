//! How the process gets on with its machine: files that it may open, and randomness.

pub mod files;
pub mod name;
pub mod priority;
pub mod random;
pub mod usable_memory;
