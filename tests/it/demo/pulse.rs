//! The demo moves, and its cluster remains plausible.

use fairshared::cli::demo::cluster::generate;
use fairshared::cli::demo::fill::fill;
use fairshared::cli::demo::groups::GROUPS;
use fairshared::cli::demo::people::GPU_CLUSTER;
use fairshared::cli::demo::pulse::step;
use fairshared::cli::demo::random::SeededRandom;
use fairshared::domain::time::MICROS_PER_SECOND;
use fairshared::service::{Clock, Service};
use std::sync::Arc;

use crate::support::ManualClock;
use crate::support::fixture::admin;
use crate::support::on_both;

on_both! {
    async fn kernels_end_and_others_take_their_places(db: TestDb) {
        let clock = Arc::new(ManualClock::at("2026-01-13T12:00:00Z"));
        let now = clock.now();
        let cluster = generate(now.micros().div_euclid(MICROS_PER_SECOND), 1, 7);
        fill(&db.store().await, now, &cluster, 1).await.unwrap();
        let service = Service::new(db.store().await, Arc::clone(&clock) as _).await.unwrap();
        service.start_serving().await.unwrap();
        let group = || service.group(&admin(), GPU_CLUSTER).unwrap();
        let (before, revision) = (group(), group().etag());
        let mut random = SeededRandom::seeded(1);
        for _ in 0..20 {
            clock.advance_seconds(3);
            for group in &GROUPS {
                step(&service, group.name, &mut random).await.unwrap();
            }
        }
        let after = group();
        assert_ne!(after.etag(), revision);
        for (slot, held) in after.in_use().iter() {
            assert!(held <= after.capacity.get(slot).unwrap(), "{slot}: {held} of {:?}", after.capacity.get(slot));
            assert!(held <= before.in_use().get(slot).unwrap(), "{slot}");
        }
        assert!(!after.waiting().is_empty() && !after.in_use().is_empty());
    }
}
