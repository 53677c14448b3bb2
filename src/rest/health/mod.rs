//! Endpoints for monitoring. They need no key.

pub mod live;
pub mod ready;
pub mod view;
