//! Changes of a group by writes. Each is checked against the group's state under its lock, and then made in a transaction of
//! the group.

pub mod options;
pub(crate) mod projects;
mod queue_slots;
pub mod queues;
pub(crate) mod record;
pub mod weights;
