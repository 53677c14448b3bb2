//! The last division of each day: stored, filtered, paged and purged.

use fairshared::domain::time::Day;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::Role;
use fairshared::service::division::{DivisionDay, HistoryFilter};
use fairshared::service::input::page::{Cursor, PageWindow};
use fairshared::service::jobs::JobControl;
use serde_json::json;

use super::set_queues;
use crate::support::fixture::{Fixture, GROUP, admin, caller_with, kernel, surely, with};
use crate::support::{on_both, time};

const START: &str = "2026-01-10T00:00:00Z";

fn day(text: &str) -> Day {
    time(text).day()
}

async fn rows(f: &Fixture, filter: &HistoryFilter) -> Vec<DivisionDay> {
    let page = f.service.division_history(&admin(), GROUP, filter, &PageWindow::forward(100, None)).await.unwrap();
    assert!(!page.has_next);
    assert_eq!(page.total, page.rows.len() as u64);
    page.rows.into_iter().map(|(_, row)| row).collect()
}

fn said(rows: &[DivisionDay]) -> Vec<(String, &str, String, String)> {
    rows.iter()
        .map(|row| (row.day.to_string(), row.queue.as_str(), row.fair_share.to_json(), row.allocated.to_json()))
        .collect()
}

async fn cluster(db: crate::support::database::TestDb) -> Fixture {
    let f = Fixture::new(db, START).await;
    f.agent("a1", &json!({"cpu": "10"})).await;
    set_queues(&f, &json!([{"name": "a", "quota": {"cpu": "4"}}])).await;
    let running = with(kernel("k1", "alice", "p", START), &json!({"queue": "a", "occupied_slots": {"cpu": "6"}}));
    f.ingest(&[running]).await;
    f
}

on_both! {
    async fn the_last_division_of_a_day_is_kept(db: TestDb) {
        let f = cluster(db).await;
        assert!(rows(&f, &HistoryFilter::default()).await.is_empty());
        f.service.keep_division(GROUP).await.unwrap();
        let first = rows(&f, &HistoryFilter::default()).await;
        let zero = r#"{"cpu":"0"}"#;
        assert_eq!(said(&first), [
            ("2026-01-10".into(), "a", r#"{"cpu":"6"}"#.into(), r#"{"cpu":"6"}"#.into()),
            ("2026-01-10".into(), "default", zero.into(), zero.into()),
        ]);
        assert_eq!(first[0].quota.to_json(), r#"{"cpu":"4"}"#);
        assert_eq!(first[0].request.to_json(), r#"{"cpu":"6"}"#);
        assert_eq!((first[0].algorithm.as_str(), first[0].ratios), ("quota_over_quota", None));
        assert_eq!(first[0].calculated_at, time(START));
        // Later on the same day, with other queues: nothing of the earlier division stays.
        set_queues(&f, &json!([{"name": "b"}])).await;
        f.service.keep_division(GROUP).await.unwrap();
        let queues: Vec<_> = rows(&f, &HistoryFilter::default()).await.into_iter().map(|r| r.queue).collect();
        assert_eq!(queues, ["b", "default"]);
        f.clock.set("2026-01-11T12:00:00Z");
        f.options(&json!({"division": {"algorithm": "min_share"}})).await;
        f.service.keep_division(GROUP).await.unwrap();
        let all = rows(&f, &HistoryFilter::default()).await;
        assert_eq!(all.len(), 4);
        let ratios = all[3].ratios.unwrap();
        assert_eq!((all[3].queue.as_str(), ratios.usage.to_string(), ratios.fair_share.to_string()), ("default", "0.6".into(), "0.6".into()));
        // The same after a restart.
        assert_eq!(rows(&f.restart().await, &HistoryFilter::default()).await, all);
    }

    async fn a_history_is_filtered_and_paged(db: TestDb) {
        let f = cluster(db).await;
        set_queues(&f, &json!([{"name": "a"}, {"name": "B"}, {"name": "é"}])).await;
        for date in ["2026-01-10", "2026-01-11", "2026-01-12"] {
            f.clock.set(&format!("{date}T01:00:00Z"));
            f.service.keep_division(GROUP).await.unwrap();
        }
        let all = rows(&f, &HistoryFilter::default()).await;
        let names: Vec<_> = all.iter().take(4).map(|r| r.queue.as_str()).collect();
        assert_eq!(names, ["B", "a", "default", "é"]);
        assert_eq!(all.len(), 12);
        let mut paged = Vec::new();
        let mut after = None;
        loop {
            let page = f.service.division_history(&admin(), GROUP, &HistoryFilter::default(), &PageWindow::forward(5, after.clone())).await.unwrap();
            assert_eq!(page.total, 12);
            let next = page.next_cursor();
            paged.extend(page.rows.into_iter().map(|(_, row)| row));
            let Some(cursor) = next else { break };
            after = Some(Cursor::decode(&cursor, fairshared::service::Service::DIVISION_HISTORY, "cursor").unwrap());
        }
        assert_eq!(paged, all);
        let one = HistoryFilter { from: Some(day("2026-01-11T00:00:00Z")), to: Some(day("2026-01-11T00:00:00Z")), queue: Some("é".into()) };
        let found = rows(&f, &one).await;
        assert_eq!(found.iter().map(|r| (r.day, r.queue.as_str())).collect::<Vec<_>>(), [(day("2026-01-11T00:00:00Z"), "é")]);
        let user = caller_with(Role::User);
        let refused = f.service.division_history(&user, GROUP, &one, &PageWindow::forward(5, None)).await.unwrap_err();
        assert_eq!(refused.code(), "forbidden");
    }

    async fn the_jobs_divide_and_purge(db: TestDb) {
        let f = cluster(db).await;
        let runner = JobRunner::new(f.service.clone(), JobSettings { keep_buckets_days: 40, ..JobSettings::default() });
        let run = async |job: &str| {
            let done = std::sync::Arc::clone(&runner).run_now(job.to_owned(), Some(GROUP.to_owned())).await.unwrap().unwrap();
            assert_eq!(done[0].status, "succeeded");
            done[0].counts.clone()
        };
        assert_eq!(run("divide").await, json!({"queues": 2}));
        f.clock.set("2026-02-19T12:00:00Z");
        assert_eq!(run("purge").await["divisions"], 0);
        assert_eq!(run("divide").await, json!({"queues": 2}));
        f.clock.set("2026-02-20T12:00:00Z");
        assert_eq!(run("purge").await["divisions"], 2);
        let left = rows(&f, &HistoryFilter::default()).await;
        assert!(left.iter().all(|r| r.day == day("2026-02-19T00:00:00Z")) && left.len() == 2);
    }

    async fn a_history_goes_with_its_group(db: TestDb) {
        let f = cluster(db).await;
        f.service.keep_division(GROUP).await.unwrap();
        f.service.delete_group(admin(), GROUP.to_owned(), surely(GROUP)).await.unwrap();
        assert_eq!(f.service.keep_division(GROUP).await.unwrap_err().code(), "unknown_resource_group");
        f.group(GROUP, &json!({})).await;
        assert!(rows(&f, &HistoryFilter::default()).await.is_empty());
    }
}
