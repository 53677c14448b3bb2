//! For whoever watches over the process; no key needed.

pub mod live;
pub mod ready;
pub mod view;
