//! Domains, projects and users of the server: who they are, what they are called, who is archived.
//!
//! Archived means hidden from lists and rankings. Weights, history and all numbers stay as they are. What
//! is used again is shown again.

mod archived;
mod called;
mod change;
mod directory;
mod domains;
mod list;
mod named_entities;
mod nearest;
mod projects;
mod resolution;
mod users;
mod visible;
pub mod who;

pub use crate::store::people::{Domain, Project, User};
pub use called::Called;
pub use change::Set;
pub(super) use change::publish_where;
pub use directory::{Directory, People};
pub use domains::DomainChange;
pub use list::{PeopleFilter, PeopleList};
pub use projects::ProjectChange;
pub use resolution::{AmbiguousName, is_text_of_id};
pub use users::UserChange;
pub(in crate::service) use visible::VisiblePeople;
