//! Who gives back for a workload that does not fit (`docs/DIVISION.md` §6).

pub mod simulate;
