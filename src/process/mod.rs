//! How the process gets on with its machine: how it allocates memory, files that it may open, and randomness.

pub mod files;
pub mod memory;
pub mod name;
pub mod priority;
pub mod random;
pub mod sqlite_memory;
pub mod usable_memory;
