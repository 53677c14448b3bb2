//! The domains, projects and users of the server in memory, and the names that stand for them.

mod directory;
pub mod lookup;
mod named_entities;
mod nearest;
mod resolution;

pub use directory::{CurrentDirectory, PeopleDirectory};
pub use resolution::{AmbiguousName, is_text_of_id};
