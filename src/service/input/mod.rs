//! The types that all use-cases share: the clock, documents, moments, pages, terms and errors.

pub mod clock;
pub mod json;
pub mod moment;
pub mod page;
pub mod terms;
