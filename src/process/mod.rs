//! How the process gets on with its machine: memory that it gives back, threads that come first and that give way.

pub mod memory;
pub mod name;
pub mod priority;
pub mod threads;
