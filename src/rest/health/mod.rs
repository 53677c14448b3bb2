//! For what watches over the process; no key is needed.

pub mod live;
pub mod ready;
pub mod view;
