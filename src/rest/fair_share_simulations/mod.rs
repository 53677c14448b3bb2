//! Simulations of changed weights, options, capacities or people.

pub mod post;
