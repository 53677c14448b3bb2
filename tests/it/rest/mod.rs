//! REST through the real router, over real databases.

mod document;
mod documented;
mod support;
