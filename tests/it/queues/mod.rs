//! Queues, demand, divisions and plans of live groups, on real databases.

mod configuration;
