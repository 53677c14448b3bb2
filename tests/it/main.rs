//! The one integration test binary.

mod domain;
mod import;
