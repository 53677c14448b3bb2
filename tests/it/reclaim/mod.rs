//! Reclaim plans (DIVISION §6, appendices B and C).

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
