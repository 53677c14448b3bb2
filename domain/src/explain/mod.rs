//! Explains the place of an owner, and what would change it (FAIR_SHARE §12). Every number is the one that runs and
//! sequencers use, so that a reader who repeats the calculation from the shown values gets the same digits.

pub mod candidate_order;
pub mod comparison;
pub mod count;
pub mod future;
pub mod outlook;
pub mod place_costs;
pub mod words;

/// The shortest decimal text that parses to the same number.
pub fn exact_text(value: f64) -> String {
    // Adding 0 removes the sign of a negative zero.
    format!("{}", value + 0.0)
}
