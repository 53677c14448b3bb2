//! What would change if weights, options, capacity or people were others.

pub mod post;
