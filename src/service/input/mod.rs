//! The types that all use-cases share: the caller, the clock, documents, moments, pages, terms and errors.

pub mod caller;
pub mod clock;
pub mod error;
pub mod json;
pub mod moment;
pub mod page;
pub mod terms;
pub mod warning;
