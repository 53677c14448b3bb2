//! What every queue deserves (`docs/DIVISION.md`).

pub mod simulate;
