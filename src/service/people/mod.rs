//! The domains, projects and users of the server, their names, and archiving.
//!
//! An archived entity is hidden from lists and rankings. Its weights, history and all numbers stay as they are. It is
//! shown again as soon as it is used again.

mod archived;
mod change;
mod directory;
mod domains;
mod given_names;
mod list;
pub mod lookup;
mod named_entities;
mod nearest;
mod projects;
mod resolution;
mod users;
mod visible;

pub use crate::store::people::{Domain, Project, User};
pub use change::KeyUpdate;
pub(super) use change::publish_where;
pub use directory::{CurrentDirectory, PeopleDirectory};
pub use domains::DomainChange;
pub use given_names::RequestNames;
pub use list::{PeopleFilter, PeopleList};
pub use projects::ProjectChange;
pub use resolution::{AmbiguousName, is_text_of_id};
pub use users::UserChange;
pub(in crate::service) use visible::VisiblePeople;
