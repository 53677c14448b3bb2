//! Scheduling cycles over a live group.

pub mod post;
