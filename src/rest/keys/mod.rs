//! API keys, for admins.

pub mod create;
pub mod list;
pub mod revoke;
pub mod view;
