//! The one integration test binary.

mod accounting;
mod domain;
mod import;
mod support;
