//! Requests that wait for the lock of their group are committed together.

use std::sync::Arc;

use fairshared::engine::audit::INGEST_ACTION;
use fairshared::engine::ingest::batch::{IngestResult, ReportDelivery};
use fairshared::engine::ingest::incoming::IncomingReport;
use fairshared::service::audit_log::{AuditEntry, AuditFilter};
use fairshared::service::input::page::PageWindow;
use fairshared::service::{Caller, Error};
use fairshared::store::{Tx, groups};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::user;
use crate::support::fixture::{Fixture, GROUP, admin, id, incoming, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T09:00:00Z";

/// Keeps every writer of the group waiting until it is dropped.
async fn held(f: &Fixture) -> Tx {
    let tx = f.db.store().await.begin().await.unwrap();
    groups::lock(&tx, GROUP, None).await.unwrap();
    tx
}

fn deliver(f: &Fixture, caller: &Caller, kernels: &[Value]) -> JoinHandle<Result<IngestResult, Error>> {
    let (service, caller) = (Arc::clone(&f.service), caller.clone());
    let reports: Vec<IncomingReport> = kernels.iter().map(incoming).collect();
    tokio::spawn(async move { service.ingest_counted(&caller, GROUP, reports.into()).await })
}

async fn until_waiting(f: &Fixture, count: usize) {
    while f.service.reports_waiting(GROUP) < count {
        tokio::task::yield_now().await;
    }
}

/// The number of writes of the group.
async fn writes(f: &Fixture) -> i64 {
    groups::find(f.service.store().read(), GROUP).await.unwrap().unwrap().kernels_revision.number()
}

async fn counted(f: &Fixture) -> Vec<AuditEntry> {
    let filter = AuditFilter { action: Some(INGEST_ACTION.to_owned()), ..AuditFilter::default() };
    let page = f.service.audit_log(&admin(), &filter, &PageWindow::forward(100, None)).await.unwrap();
    page.rows.into_iter().map(|(_, entry)| entry).collect()
}

on_both! {
    async fn what_waits_for_the_lock_is_one_commit_with_an_answer_for_each(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        f.ingest(&[kernel("known", "ann", "ml", START)]).await;
        let before = writes(&f).await;
        let lock = held(&f).await;
        let mut under_way = Vec::new();
        for n in 0..20 {
            let own = kernel(&format!("k{n}"), &format!("u{n}"), &format!("p{n}"), START);
            // The second row of every fifth request contradicts what is known.
            let moved = with(kernel("known", "bob", "ml", START), &json!({}));
            let rows = if n % 5 == 0 { vec![own, moved] } else { vec![own] };
            under_way.push(deliver(&f, &admin(), &rows));
            until_waiting(&f, n + 1).await;
        }
        drop(lock);
        for (n, task) in under_way.into_iter().enumerate() {
            let done = task.await.unwrap().unwrap();
            let refused: Vec<_> = done.refused.iter().map(|r| (r.at, r.fault.code)).collect();
            assert_eq!(refused, if n % 5 == 0 { vec![(1, "conflict")] } else { vec![] }, "{n}");
            assert_eq!(done.changed, 1);
            user(&f, &format!("u{n}"), &format!("p{n}"));
        }
        assert_eq!(writes(&f).await - before, 1);
        let entries = counted(&f).await;
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(entries[0].after, Some(json!({"accepted": 21, "rejected": 4})));
    }

    async fn one_kernel_of_many_requests_is_folded_as_they_came(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let lock = held(&f).await;
        let mut under_way = Vec::new();
        for n in 0..4 {
            under_way.push(deliver(&f, &admin(), &[with(kernel("k", "ann", "ml", START), &json!({"priority": n}))]));
            until_waiting(&f, n + 1).await;
        }
        drop(lock);
        for task in under_way {
            assert!(task.await.unwrap().unwrap().refused.is_empty());
        }
        let known = f.service.kernel(&admin(), GROUP, fairshared::domain::ids::KernelId(id("k"))).await.unwrap().kernel;
        assert_eq!(known.report.traits.priority, 3);
    }

    async fn a_request_that_cannot_be_stored_keeps_nobody_else_out(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let traps: &[&str] = if f.db.url.starts_with("sqlite") {
            &["CREATE TRIGGER trap BEFORE INSERT ON kernels WHEN NEW.agent_id = 'poison' \
               BEGIN SELECT RAISE(ABORT, 'no'); END"]
        } else {
            &["CREATE FUNCTION trap() RETURNS trigger AS $$ BEGIN IF NEW.agent_id = 'poison' THEN \
               RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$ LANGUAGE plpgsql",
              "CREATE TRIGGER trap BEFORE INSERT ON kernels FOR EACH ROW EXECUTE FUNCTION trap()"]
        };
        for sql in traps {
            #[allow(clippy::disallowed_methods, reason = "a row that no database takes")]
            sea_orm::ConnectionTrait::execute_unprepared(f.service.store().write(), sql).await.unwrap();
        }
        let lock = held(&f).await;
        let mut under_way = Vec::new();
        for n in 0..6 {
            let agent = if n == 2 { "poison" } else { "node" };
            let row = with(kernel(&format!("k{n}"), "ann", "ml", START), &json!({"agent_id": agent}));
            under_way.push(deliver(&f, &admin(), &[row]));
            until_waiting(&f, n + 1).await;
        }
        drop(lock);
        for (n, task) in under_way.into_iter().enumerate() {
            assert_eq!(task.await.unwrap().is_err(), n == 2, "{n}");
        }
        assert_eq!(counted(&f).await[0].after, Some(json!({"accepted": 5, "rejected": 0})));
        f.tick().await;
        f.assert_conserved().await;
    }

    async fn a_caller_that_hangs_up_is_committed_with_the_others(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let lock = held(&f).await;
        let first = deliver(&f, &admin(), &[kernel("k0", "ann", "ml", START)]);
        until_waiting(&f, 1).await;
        let gone = deliver(&f, &admin(), &[kernel("k1", "bob", "ml", START)]);
        until_waiting(&f, 2).await;
        gone.abort();
        drop(lock);
        first.await.unwrap().unwrap();
        let ids = [fairshared::domain::ids::KernelId(id("k1"))];
        assert_eq!(f.service.known_kernels(&admin(), &ids).await.unwrap().len(), 1);
    }

    async fn ingests_are_counted_by_key_and_minute_and_forgotten(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let other = Caller::internal("other");
        for (caller, name) in [(&admin(), "a"), (&other, "b"), (&admin(), "a"), (&other, "c")] {
            deliver(&f, caller, &[kernel(name, "ann", "ml", START)]).await.unwrap().unwrap();
            f.clock.advance_seconds(19);
        }
        let unread = ReportDelivery { rejected: 3, ..ReportDelivery::default() };
        f.service.ingest_counted(&admin(), GROUP, unread).await.unwrap();
        let found: Vec<_> = counted(&f).await.into_iter().map(|e| (e.actor, e.after.unwrap())).collect();
        let counts = |accepted: u64, rejected: u64| json!({"accepted": accepted, "rejected": rejected});
        assert_eq!(found, [
            ("test".to_owned(), counts(0, 3)), ("other".to_owned(), counts(2, 0)), ("test".to_owned(), counts(2, 0)),
        ]);
        assert_eq!(f.service.purge_ingest_audit(90).await.unwrap(), 0);
        f.clock.advance_seconds(91 * 86_400);
        assert_eq!(f.service.purge_ingest_audit(90).await.unwrap(), 3);
        // The configuration is kept.
        let rest = f.service.audit_log(&admin(), &AuditFilter::default(), &PageWindow::forward(10, None)).await.unwrap();
        assert_eq!(rest.rows.len(), 1);
    }
}
