//! Who would have to give back for a workload, on live state.

pub mod post;
