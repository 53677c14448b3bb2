//! What a group offered on each day.

pub mod list;
pub mod put;
pub mod view;
