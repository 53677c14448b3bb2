//! What writes change of a group: checked against the group as it is under its lock, then made in a session.

pub mod options;
pub(in crate::service) mod projects;
mod queue_slots;
pub mod queues;
pub(in crate::service) mod record;
pub mod weights;
