//! The facts about everything that can be chosen or set.

pub mod get;
