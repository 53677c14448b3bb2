//! Plans that reclaim capacity for a workload that does not fit (DIVISION §6).

pub mod simulate;
