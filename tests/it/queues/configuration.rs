//! Queues as admins configure them: all or nothing, audited, and seen by every process.

use std::sync::Arc;

use fairshared::domain::queues::QueueConfig;
use fairshared::service::audit_log::{AuditEntry, AuditFilter};
use fairshared::service::input::page::PageWindow;
use fairshared::service::queues::{QueuesChanged, QueuesWrite};
use fairshared::service::{Error, Role, Service};
use serde_json::{Value, json};

use super::config;
use crate::support::fixture::{Fixture, GROUP, admin, caller_with, surely};
use crate::support::{ManualClock, on_both, time};

async fn put(f: &Fixture, queue: &Value) -> Result<QueuesChanged, Error> {
    f.service.put_queue(admin(), GROUP.to_owned(), config(queue), None).await
}

async fn put_all(f: &Fixture, queues: &Value, prune: bool) -> Result<QueuesChanged, Error> {
    let queues = queues.as_array().unwrap().iter().map(config).collect();
    f.service.put_queues(admin(), GROUP.to_owned(), QueuesWrite { queues, prune, ..QueuesWrite::default() }).await
}

fn names(f: &Fixture) -> Vec<String> {
    f.service.queues(&admin(), GROUP).unwrap().keys().map(ToString::to_string).collect()
}

fn faults(result: Result<QueuesChanged, Error>) -> Vec<(String, &'static str)> {
    match result {
        Err(Error::Invalid(faults)) => faults.into_iter().map(|f| (f.pointer, f.code)).collect(),
        other => panic!("{other:?}"),
    }
}

async fn log(f: &Fixture) -> Vec<AuditEntry> {
    let page = f.service.audit_log(&admin(), &AuditFilter::default(), &PageWindow::forward(50, None)).await.unwrap();
    page.rows.into_iter().map(|(_, entry)| entry).filter(|e| e.action.starts_with("queue")).collect()
}

fn full() -> Value {
    json!({
        "name": "vision", "parent": "research", "priority": -3, "weight": "2.5", "mode": "fifo",
        "created_at": "2025-12-01T00:00:00Z", "quota": {"cpu": "4", "cuda.device": "unlimited"},
        "limit": {"cpu": "8.000000000001"}, "guarantee": {"mem": "1073741824"},
        "over_quota_weight": {"cpu": "0", "mem": "3"}, "children_over_quota_by": "quota",
        "min_share_ratio": "0.25", "reclaimable": false, "preempt_min_runtime": 60, "reclaim_min_runtime": 3600,
    })
}

on_both! {
    async fn a_queue_comes_back_as_it_was_put(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let made = put(&f, &json!({"name": "research"})).await.unwrap();
        assert_eq!(made.changes.len(), 1);
        assert_eq!(made.changes[0].from, None);
        put(&f, &full()).await.unwrap();
        let expected = config(&full());
        assert_eq!(*f.service.queue(&admin(), GROUP, "vision").unwrap(), expected);
        // A key that is left out has its default, and a queue without an age is as old as its first write.
        let plain = f.service.queue(&admin(), GROUP, "research").unwrap();
        assert_eq!(*plain, QueueConfig { created_at: Some(time("2026-01-10T00:00:00Z")), ..QueueConfig::named("research") });
        // The database says the same after a restart.
        f.clock.set("2026-01-11T00:00:00Z");
        let f = f.restart().await;
        assert_eq!(*f.service.queue(&admin(), GROUP, "vision").unwrap(), expected);
        assert_eq!(f.service.queue(&admin(), GROUP, "research").unwrap(), plain);
        // A replacement resets what it leaves out, but for the age.
        put(&f, &json!({"name": "vision"})).await.unwrap();
        let replaced = f.service.queue(&admin(), GROUP, "vision").unwrap();
        assert_eq!(*replaced, QueueConfig { created_at: expected.created_at, ..QueueConfig::named("vision") });
        match f.service.queue(&admin(), GROUP, "audio") {
            Err(error) => assert_eq!(error.code(), "unknown_queue"),
            Ok(queue) => panic!("{queue:?}"),
        }
    }

    async fn a_write_is_all_or_nothing(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        put_all(&f, &json!([{"name": "a"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "b"}]), false).await.unwrap();
        let before = f.service.queues(&admin(), GROUP).unwrap();
        let entries = log(&f).await.len();
        let table = [
            (json!([{"name": "x"}, {"name": "y", "parent": "nobody"}]), vec![("/queues/1/parent", "unknown_parent")]),
            (json!([{"name": "x"}, {"name": "x"}]), vec![("/queues/1/name", "duplicate_name")]),
            (json!([{"name": "x/y"}]), vec![("/queues/0/name", "invalid_name")]),
            (json!([{"name": "x"}, {"name": "a", "parent": "c"}]), vec![("/queues/1/parent", "cycle")]),
            (json!([{"name": "x", "parent": "x"}]), vec![("/queues/0/parent", "cycle")]),
            (json!([{"name": "x", "weight": "1000001"}, {"name": "y", "preempt_min_runtime": 4_294_967_296_u64}]),
                vec![("/queues/1/preempt_min_runtime", "out_of_range"), ("/queues/0/weight", "out_of_range")]),
        ];
        for (queues, expected) in table {
            let found = faults(put_all(&f, &queues, false).await);
            let expected: Vec<_> = expected.into_iter().map(|(pointer, code)| (pointer.to_owned(), code)).collect();
            assert_eq!(found, expected, "{queues}");
        }
        // Pruning a parent leaves its child without one.
        let found = faults(put_all(&f, &json!([{"name": "b", "parent": "a"}]), true).await);
        assert_eq!(found, [("/queues/0/parent".to_owned(), "unknown_parent")]);
        // One queue: pointers into itself.
        let found = faults(put(&f, &json!({"name": "a", "parent": "c"})).await);
        assert_eq!(found, [("/parent".to_owned(), "cycle")]);
        assert_eq!(f.service.queues(&admin(), GROUP).unwrap(), before);
        assert_eq!(log(&f).await.len(), entries);
        let f = f.restart().await;
        assert_eq!(*f.service.queues(&admin(), GROUP).unwrap(), *before);
    }

    async fn many_slots_are_refused(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let slots = |from: usize| (from..from + 40).map(|n| (format!("slot{n}"), json!("1"))).collect::<serde_json::Map<_, _>>();
        put(&f, &json!({"name": "a", "quota": slots(0)})).await.unwrap();
        let found = faults(put_all(&f, &json!([{"name": "b", "quota": slots(40)}]), false).await);
        assert_eq!(found, [("/queues".to_owned(), "too_many_slots")]);
    }

    async fn pruning_removes_what_is_not_named(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        put_all(&f, &json!([{"name": "a"}, {"name": "b", "parent": "a"}, {"name": "c"}]), false).await.unwrap();
        let same = put_all(&f, &json!([{"name": "a"}]), false).await.unwrap();
        assert!(same.changes.is_empty());
        let queues = vec![config(&json!({"name": "a", "priority": 1}))];
        let write = QueuesWrite { queues, prune: true, ..QueuesWrite::default() };
        let done = f.service.put_queues(admin(), GROUP.to_owned(), write).await.unwrap();
        let said: Vec<_> = done.changes.iter().map(|c| (&*c.name, c.from.is_some(), c.to.is_some())).collect();
        assert_eq!(said, [("a", true, true), ("b", true, false), ("c", true, false)]);
        assert_eq!(names(&f), ["a"]);
        assert_eq!(names(&f.restart().await), ["a"]);
    }

    async fn a_queue_with_children_stays(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        put_all(&f, &json!([{"name": "a"}, {"name": "b", "parent": "a"}]), false).await.unwrap();
        let delete = |name: &'static str| f.service.delete_queue(admin(), GROUP.to_owned(), name.to_owned(), None);
        assert_eq!(delete("a").await.unwrap_err().code(), "has_children");
        assert_eq!(delete("z").await.unwrap_err().code(), "unknown_queue");
        assert_eq!(names(&f), ["a", "b"]);
        delete("b").await.unwrap();
        delete("a").await.unwrap();
        assert!(names(&f).is_empty());
        assert!(names(&f.restart().await).is_empty());
    }

    async fn the_linter_warns_and_refuses_nothing(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        f.agent("a1", &json!({"cpu": "5"})).await;
        let done = put_all(&f, &json!([
            {"name": "a", "quota": {"cpu": "10"}, "limit": {"cpu": "6"}},
            {"name": "b", "parent": "a", "quota": {"cpu": "11"}, "guarantee": {"cpu": "1"}},
        ]), false).await.unwrap();
        let said: Vec<_> = done.warnings.iter().map(|w| (w.code, w.queue.as_deref())).collect();
        let expected = [("quota_above_capacity", None), ("children_quota_above_parent", Some("a")), ("limit_below_quota", Some("a")), ("guarantee_not_read", Some("b"))];
        assert_eq!(said, expected);
        // The keys that are read depend on the algorithm of the group.
        f.options(&json!({"division": {"algorithm": "proportion", "options": {"proportion_variant": "volcano"}}})).await;
        let done = put_all(&f, &json!([]), false).await.unwrap();
        let said: Vec<_> = done.warnings.iter().map(|w| (w.code, w.queue.as_deref())).collect();
        assert_eq!(said, expected[..3]);
    }

    async fn every_write_is_audited(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        f.service.put_queue(admin(), GROUP.to_owned(), config(&json!({"name": "a"})), Some("new team".to_owned())).await.unwrap();
        put(&f, &json!({"name": "a", "priority": 2})).await.unwrap();
        put(&f, &json!({"name": "a", "priority": 2})).await.unwrap();
        put_all(&f, &json!([{"name": "b"}]), true).await.unwrap();
        f.service.delete_queue(admin(), GROUP.to_owned(), "b".to_owned(), Some("gone".to_owned())).await.unwrap();
        let entries = log(&f).await;
        let said: Vec<_> = entries.iter().rev().map(|e| (e.action.as_str(), e.target.as_str(), e.reason.as_deref())).collect();
        let expected = [
            ("queue.put", "a", Some("new team")), ("queue.put", "a", None), ("queues.put", GROUP, None),
            ("queue.delete", "b", Some("gone")),
        ];
        assert_eq!(said, expected);
        let [delete, many, second, first] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!(first.before, None);
        assert_eq!(first.after.as_ref().unwrap()["priority"], 0);
        assert_eq!(second.before.as_ref().unwrap()["priority"], 0);
        assert_eq!(second.after.as_ref().unwrap()["priority"], 2);
        assert_eq!(many.before.as_ref().unwrap()["b"], Value::Null);
        assert_eq!(many.before.as_ref().unwrap()["a"]["priority"], 2);
        assert_eq!(many.after.as_ref().unwrap()["a"], Value::Null);
        assert_eq!(many.after.as_ref().unwrap()["b"]["name"], "b");
        assert_eq!(delete.before.as_ref().unwrap()["name"], "b");
        assert_eq!(delete.after, None);
    }

    async fn another_process_sees_the_queues(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        let clock = Arc::new(ManualClock::at("2026-01-10T00:00:00Z"));
        let other = Service::new(f.db.store().await, clock as _).await.unwrap();
        put(&f, &json!({"name": "a"})).await.unwrap();
        assert!(other.queues(&admin(), GROUP).unwrap().is_empty());
        other.refresh().await.unwrap();
        assert!(other.queue(&admin(), GROUP, "a").is_ok());
        // A write builds on what is stored, not on what this process last saw.
        put(&f, &json!({"name": "b", "parent": "a"})).await.unwrap();
        let refused = other.delete_queue(admin(), GROUP.to_owned(), "a".to_owned(), None).await.unwrap_err();
        assert_eq!(refused.code(), "has_children");
        other.put_queue(admin(), GROUP.to_owned(), config(&json!({"name": "c", "parent": "b"})), None).await.unwrap();
        assert_eq!(other.queues(&admin(), GROUP).unwrap().len(), 3);
    }

    async fn only_admins_write_and_users_see_nothing(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        put(&f, &json!({"name": "a"})).await.unwrap();
        for role in [Role::Scheduler, Role::Viewer, Role::User] {
            let new = || config(&json!({"name": "b"}));
            let write = || QueuesWrite { queues: vec![new()], ..QueuesWrite::default() };
            let group = || GROUP.to_owned();
            let refused = [
                f.service.put_queue(caller_with(role), group(), new(), None).await.unwrap_err(),
                f.service.put_queues(caller_with(role), group(), write()).await.unwrap_err(),
                f.service.delete_queue(caller_with(role), group(), "a".to_owned(), None).await.unwrap_err(),
            ];
            assert!(refused.iter().all(|e| e.code() == "forbidden"), "{role:?}: {refused:?}");
            let reads = f.service.queues(&caller_with(role), GROUP).is_ok();
            assert_eq!(reads, role != Role::User);
        }
        assert_eq!(names(&f), ["a"]);
        assert_eq!(f.service.queues(&admin(), "nowhere").unwrap_err().code(), "unknown_resource_group");
    }

    async fn queues_go_with_their_group(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
        put(&f, &json!({"name": "a"})).await.unwrap();
        f.group("other", &json!({})).await;
        f.service.put_queue(admin(), "other".to_owned(), config(&json!({"name": "a", "priority": 7})), None).await.unwrap();
        f.service.delete_group(admin(), GROUP.to_owned(), surely(GROUP)).await.unwrap();
        f.group(GROUP, &json!({})).await;
        assert!(names(&f).is_empty());
        assert_eq!(f.service.queue(&admin(), "other", "a").unwrap().priority, 7);
    }
}
