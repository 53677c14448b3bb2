//! Laws and worked examples of the pure rules.

mod buckets;
mod capacity;
mod decay;
mod decimals;
mod factors;
mod filters;
mod hierarchy;
mod kernels;
mod ledger;
mod normalization;
mod options;
mod sequencing;
mod slices;
mod spans;
mod support;
mod turns;
