//! The inferred end of kernels that are not reported any more, if the group's options ask for it.

use fairshared::domain::ids::KernelId;
use fairshared::engine::audit::INFERRED_END_ACTION;
use fairshared::service::audit_log::AuditFilter;
use fairshared::service::input::page::PageWindow;
use serde_json::json;

use super::spans;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel};
use crate::support::on_both;

async fn ends(f: &Fixture) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for name in ["steady", "silent"] {
        let known = f.service.kernel(&admin(), GROUP, KernelId(id(name))).await.unwrap().kernel;
        found.push(known.report.terminated_at.map(|t| t.to_string()));
    }
    found
}

async fn report(f: &Fixture, name: &str) {
    assert!(f.ingest(&[kernel(name, "ann", "ml", "2026-01-13T09:00:00Z")]).await.is_empty());
}

/// Reports one kernel every five minutes, and runs the accounting each time.
async fn go_on(f: &Fixture, rounds: usize) {
    for _ in 0..rounds {
        f.clock.advance_seconds(300);
        report(f, "steady").await;
        f.tick().await;
    }
}

on_both! {
    async fn what_is_not_reported_for_too_long_ends_when_it_was_last_seen(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.agent("node", &json!({"cpu": "10"})).await;
        for name in ["steady", "silent"] {
            report(&f, name).await;
        }
        go_on(&f, 12).await;
        assert_eq!(ends(&f).await, [None, None], "off unless set");
        f.options(&json!({"kernel_timeout_seconds": 3_900})).await;
        f.tick().await;
        assert_eq!(ends(&f).await, [None, None]);
        go_on(&f, 1).await;
        assert_eq!(ends(&f).await, [None, Some("2026-01-13T10:00:00Z".to_owned())]);
        let filter = AuditFilter { action: Some(INFERRED_END_ACTION.to_owned()), ..AuditFilter::default() };
        let page = f.service.audit_log(&admin(), &filter, &PageWindow::forward(10, None)).await.unwrap();
        assert_eq!(page.rows[0].1.after.as_ref().unwrap()["why"], "kernel_timeout_seconds");
        assert_eq!(spans(&f, "silent").await.last().unwrap(), "09:00:00-10:00:00");
        f.assert_conserved().await;
        // It was there all the time.
        report(&f, "silent").await;
        f.tick().await;
        assert_eq!(ends(&f).await, [None, None]);
        assert_eq!(spans(&f, "silent").await.last().unwrap(), "10:00:00-11:05:00");
        f.assert_conserved().await;
    }

    async fn time_counts_while_the_service_ran_and_others_reported(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.options(&json!({"kernel_timeout_seconds": 1_800})).await;
        for name in ["steady", "silent"] {
            report(&f, name).await;
        }
        go_on(&f, 2).await;
        // The scheduler is down for two hours.
        for _ in 0..24 {
            f.clock.advance_seconds(300);
            f.tick().await;
        }
        assert_eq!(ends(&f).await, [None, None]);
        // The service is down for two hours; before, nothing more came in.
        let f = Fixture::new(crate::support::database::sqlite().await, "2026-01-13T10:00:00Z").await;
        f.options(&json!({"kernel_timeout_seconds": 1_800})).await;
        for name in ["steady", "silent"] {
            report(&f, name).await;
        }
        go_on(&f, 2).await;
        f.clock.advance_seconds(7_200);
        let f = f.restart().await;
        go_on(&f, 3).await;
        assert_eq!(ends(&f).await, [None, None]);
        go_on(&f, 1).await;
        assert_eq!(ends(&f).await, [None, Some("2026-01-13T10:00:00Z".to_owned())]);
    }

    async fn repeated_reports_are_not_written_every_time(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        report(&f, "steady").await;
        let revision = async || {
            fairshared::store::groups::find(f.service.store().read(), GROUP).await.unwrap().unwrap().kernels_revision.number()
        };
        let before = revision().await;
        for _ in 0..9 {
            f.clock.advance_seconds(60);
            report(&f, "steady").await;
        }
        assert_eq!(revision().await - before, 1);
    }
}
