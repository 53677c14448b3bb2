//! The domains, projects and users of the server, their names, and archiving.
//!
//! An archived entity is hidden from lists and rankings. Its weights, history and all numbers stay as they are. It is
//! shown again as soon as it is used again.

mod archived;
mod change;
mod domains;
mod given_names;
pub mod known_names;
mod list;
mod projects;
mod users;
mod visible;

pub use crate::store::people::{Domain, Project, User};
pub use change::KeyUpdate;
pub use domains::DomainChange;
pub use given_names::RequestNames;
pub use list::{PeopleFilter, PeopleList};
pub use projects::ProjectChange;
pub use users::UserChange;
pub(in crate::service) use visible::VisiblePeople;
