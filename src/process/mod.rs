//! The process and its machine: memory, open files, thread priorities, and randomness.

pub mod files;
pub mod memory;
pub mod name;
pub mod priority;
pub mod random;
pub mod sqlite_memory;
pub mod usable_memory;
