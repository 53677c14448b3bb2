//! What writes change of a group: checked against the group as it is under its lock, then made in a session.

pub mod queues;
pub mod weights;
