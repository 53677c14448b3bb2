//! Reclaim plans (docs/DIVISION.md §6 and appendices B, C).

mod again;
mod exhaustive;
mod gangs;
mod input;
mod laws;
mod placement;
mod plugins;
mod random;
mod refusals;
mod scale;
mod sets;
mod sources;
mod strategies;
mod support;
mod tiers;
mod traces;
mod world;
