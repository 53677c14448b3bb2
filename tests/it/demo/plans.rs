//! Plans on a fresh demo, for each hour at which it may be started.

use std::sync::Arc;

use fairshared::cli::demo::cluster::generate;
use fairshared::cli::demo::fill::fill;
use fairshared::cli::demo::people::GPU_CLUSTER;
use fairshared::domain::kernel::{Kernel, KernelPhase};
use fairshared::domain::names::check_name;
use fairshared::domain::reclaim::ReclaimVerdict;
use fairshared::domain::time::{MICROS_PER_SECOND, Timestamp};
use fairshared::service::input::page::{MAX_PAGE, PageWindow};
use fairshared::service::kernels::KernelFilter;
use fairshared::service::{Clock, Service};
use serde_json::json;

use crate::support::ManualClock;
use crate::support::database::sqlite;
use crate::support::fixture::admin;

/// All running kernels of a group in the demo at this hour.
async fn running(service: &Service, group: &str) -> Vec<Kernel> {
    let (mut kernels, mut after) = (Vec::new(), None);
    loop {
        let window = PageWindow::forward(MAX_PAGE, after);
        let page = service.kernels(&admin(), group, KernelFilter::default(), &window).await.unwrap();
        after = page.rows.last().filter(|_| page.has_next).map(|(cursor, _)| cursor.clone());
        kernels
            .extend(page.rows.into_iter().map(|(_, kernel)| kernel).filter(|k| k.report.phase == KernelPhase::Running));
        if after.is_none() {
            return kernels;
        }
    }
}

#[tokio::test]
async fn a_deserving_queue_finds_victims_at_any_hour() {
    let (mut gangs, mut stay) = (0, 0);
    // Through a week, at other hours each time; and a moment at which, left to chance, no queue holds too much.
    let week = (0..8).map(|round| ("2026-02-18T10:30:00Z", round * 21 * 3_600, u64::from(round % 3 > 0), 8));
    for (start, later, seed, days) in week.chain([("2026-11-20T19:10:00Z", 0, 1, 30)]) {
        let clock = Arc::new(ManualClock::at(start));
        clock.advance_seconds(later);
        let db = sqlite().await;
        let now: Timestamp = clock.now();
        let cluster = generate(now.micros().div_euclid(MICROS_PER_SECOND), seed, days);
        fill(&db.store().await, now, &cluster, 1).await.unwrap();
        let service = Service::new(db.store().await, Arc::clone(&clock) as _).await.unwrap();

        let request = json!({"workload_id": "new", "queue": "forecasting", "members": [{"slots": {"cpu": 48, "cuda.device": 8}}]});
        let plan =
            service.plan_reclaim(&admin(), GPU_CLUSTER, serde_json::from_value(request).unwrap()).await.unwrap().plan;
        assert_eq!(plan.verdict, ReclaimVerdict::Reclaim, "{now}: {plan:?}");
        assert!(!plan.victims.is_empty() && plan.placement.is_some(), "{now}: {plan:?}");

        let kernels = running(&service, GPU_CLUSTER).await;
        let preemptible = kernels.iter().filter(|k| k.report.traits.preemptible).count();
        assert!(preemptible * 2 > kernels.len(), "{now}: {preemptible} of {}", kernels.len());
        stay += kernels.len() - preemptible;
        let of_gangs: Vec<&str> = kernels.iter().filter_map(|k| k.report.traits.gang_id.as_deref()).collect();
        // As if a scheduler had reported them.
        assert!(of_gangs.iter().all(|gang| check_name(gang).is_ok()), "{of_gangs:?}");
        gangs += of_gangs.len();
        let services = running(&service, "inference").await;
        assert!(
            services.iter().all(|k| !k.report.traits.preemptible) && services.iter().any(|k| k.report.traits.critical)
        );
    }
    assert!(gangs > 0 && stay > 0, "{gangs} kernels of gangs, {stay} that stay");
}
