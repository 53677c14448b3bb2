//! What every use-case takes and gives: the caller, the clock, documents, pages and errors.

pub mod caller;
pub mod clock;
pub mod error;
pub mod json;
pub mod page;
