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
mod progressive;
mod quantities;
mod ranking;
mod sequencing;
mod shards;
mod slices;
mod spans;
mod statuses;
mod support;
mod suspensions;
mod turns;
