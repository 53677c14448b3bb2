//! Scheduling cycles: what starts now, and why the rest waits (CYCLE §1).

pub mod simulate;
