//! Who gives back for a workload that does not fit (DIVISION §6).

pub mod simulate;
