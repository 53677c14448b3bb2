//! The rows that a day leaves in the history of its group: the factors and ranks of all owners, and the fairness of each tier.
//! They are written before the first run of the next day.

pub(crate) mod fairness;
mod past_days;
pub(crate) mod recent_usage;
mod shares;
