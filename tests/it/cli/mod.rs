//! The command line as users see it: the real program over real databases.

mod bodies;
mod both_ways;
mod client;
mod closing;
mod config;
mod doctor;
mod explain;
mod fairness;
mod ids;
mod keys;
mod live;
#[cfg(target_os = "linux")]
mod memory;
pub mod metrics;
mod migrate;
pub mod program;
mod queue_usage;
mod reading;
mod remote;
mod replay;
mod serve;
mod simulations;
mod slots;
mod usage;
mod usage_report;
mod uuid_names;
mod warnings;
mod weights;
mod what_if;
mod written_forms;

use serde_json::json;

use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, kernel, with};

/// Two users of the domains research and teaching, an hour after both began.
async fn two_users(db: TestDb) -> Fixture {
    let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
    f.agent("node-1", &json!({"cpu": "10"})).await;
    let named = |user: &str, project: &str| json!({"user_name": user, "project_name": project});
    let alice = with(kernel("k1", "alice", "ml", "2026-01-13T10:00:00Z"), &named("alice", "ml"));
    let bob = with(kernel("k2", "bob", "course", "2026-01-13T10:00:00Z"), &named("bob", "course"));
    let bob = with(bob, &json!({"domain_name": "teaching", "occupied_slots": {"cpu": "4"}}));
    assert!(f.ingest(&[alice, bob]).await.is_empty());
    f.clock.advance_seconds(3600);
    f.tick().await;
    f
}
