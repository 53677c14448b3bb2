//! How the process gets on with its machine: memory that it gives back, threads that give way.

pub mod memory;
pub mod priority;
