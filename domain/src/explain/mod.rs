//! Why an owner stands where it stands, and what would change that (FAIR_SHARE §12). Every figure is the one that runs and
//! sequencers calculate with, so that a reader who redoes the calculation from what is shown comes to the same digits.

pub mod contest;
pub mod count;
pub mod future;
pub mod line_up;
pub mod outlook;
pub mod reach;
pub mod words;

/// A computed number in the shortest decimal text from which the same number is read again.
pub fn exact(value: f64) -> String {
    // Without the sign that a zero may have.
    format!("{}", value + 0.0)
}
