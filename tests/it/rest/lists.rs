//! Paging: no row repeated, none skipped, and no more SQL for more rows.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

/// Follows `next_cursor` to the end. Returns the rows and the number of pages.
async fn walk(server: &Server, path: &str, limit: u32) -> (Vec<Value>, usize) {
    let separator = if path.contains('?') { '&' } else { '?' };
    let (mut rows, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = server.get(&format!("{path}{separator}limit={limit}{cursor}")).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit as usize);
        rows.extend(items.iter().cloned());
        pages += 1;
        let Some(next) = page.get("next_cursor") else {
            assert_eq!(page["total"], rows.len(), "{path}");
            return (rows, pages);
        };
        cursor = format!("&cursor={}", next.as_str().unwrap());
        assert!(pages < 1000, "{path} has no end");
    }
}

fn all_lists() -> Vec<String> {
    let mut lists: Vec<String> =
        ["/resource-groups", "/jobs", "/job-runs", "/audit-log", "/keys"].map(String::from).into();
    let of_group = [
        "/agents",
        "/kernels",
        "/fair-share-status",
        "/usage-buckets/domains",
        "/usage-buckets/projects",
        "/usage-buckets/users",
        "/usage-gaps",
    ];
    lists.extend(of_group.map(group));
    lists
}

/// Several rows in every list; `round` makes new ones each time.
async fn fill(server: &Server, round: u32) {
    for n in 0..5 {
        server.group(&format!("group-{round}-{n}"), &json!({})).await;
        server.agent(&format!("agent-{round}-{n}"), &json!({"cpu": "10"})).await;
        server.call("POST", "/keys", Some(&json!({"role": "viewer", "label": "x"}))).await.json(201);
        let row =
            kernel(&format!("k{round}{n}"), &format!("u{round}{n}"), &format!("p{round}{n}"), "2026-01-11T00:00:00Z");
        let row = with(row, &json!({"domain_name": format!("d{round}{n}")}));
        server.call("POST", &group("/kernels"), Some(&row)).await.json(200);
        server.call("POST", "/jobs/aggregate/run", Some(&json!({"resource_group": "gpu-cluster"}))).await.json(200);
    }
}

on_both! {
    async fn pages_repeat_and_skip_nothing(db: TestDb) {
        let mut server = Server::new(db).await;
        fill(&server, 0).await;
        // Four downtimes with a kernel across them.
        for _ in 0..4 {
            server.service.heartbeat().await.unwrap();
            server.clock.advance_seconds(3600);
            let Server { fixture, key, .. } = server;
            server = Server::over(fixture.restart().await, key);
            server.tick().await;
        }
        for path in all_lists() {
            let (whole, _) = walk(&server, &path, 1000).await;
            let expected = if path == "/jobs" { 3 } else { 4 };
            assert!(whole.len() >= expected, "{path}: {}", whole.len());
            let distinct: BTreeSet<String> = whole.iter().map(Value::to_string).collect();
            assert_eq!(distinct.len(), whole.len(), "{path}");
            let key = |row: &Value| ["id", "name", "agent_id", "kernel_id"].map(|k| row[k].clone());
            for limit in [1, 2, 3] {
                let (rows, pages) = walk(&server, &path, limit).await;
                assert_eq!(rows.iter().map(key).collect::<Vec<_>>(), whole.iter().map(key).collect::<Vec<_>>(), "{path}");
                if path != "/jobs" && path != "/keys" {
                    assert_eq!(rows, whole, "{path}");
                }
                assert_eq!(pages, whole.len().div_ceil(limit as usize), "{path}");
            }
        }
    }

    async fn a_page_goes_on_behind_its_last_row_whatever_came_meanwhile(db: TestDb) {
        let server = Server::new(db).await;
        fill(&server, 0).await;
        let path = group("/kernels");
        let first = server.get(&format!("{path}?limit=3")).await;
        let cursor = first["next_cursor"].as_str().unwrap();
        fill(&server, 1).await;
        let rest = server.get(&format!("{path}?limit=1000&cursor={cursor}")).await;
        let last_seen = first["items"][2]["kernel_id"].as_str().unwrap();
        let ids: Vec<_> = rest["items"].as_array().unwrap().iter().map(|k| k["kernel_id"].as_str().unwrap()).collect();
        assert!(ids.iter().all(|id| *id > last_seen));
        let (all, _) = walk(&server, &path, 1000).await;
        let behind: Vec<_> = all.iter().map(|k| k["kernel_id"].as_str().unwrap()).filter(|k| *k > last_seen).collect();
        assert_eq!(ids, behind);
    }

    async fn a_cursor_works_in_its_own_list_only(db: TestDb) {
        let server = Server::with_usage(db).await;
        fill(&server, 0).await;
        let mut cursors = Vec::new();
        for path in all_lists() {
            let page = server.get(&format!("{path}?limit=1")).await;
            if let Some(next) = page["next_cursor"].as_str() {
                cursors.push((path, next.to_owned()));
            }
        }
        assert!(cursors.len() > 9);
        for (from, cursor) in &cursors {
            for path in all_lists().into_iter().filter(|p| p != from) {
                let answer = server.call("GET", &format!("{path}?cursor={cursor}"), None).await;
                assert_eq!(answer.refused(422, "invalid_cursor"), ["/cursor"], "{from} -> {path}");
            }
        }
        // Another group's list of the same kind is another list.
        let (_, cursor) = cursors.iter().find(|(path, _)| path.ends_with("/kernels")).unwrap();
        let other = server.call("GET", &format!("/resource-groups/group-0-1/kernels?cursor={cursor}"), None).await;
        other.refused(422, "invalid_cursor");
        server.call("GET", &group("/kernels?cursor=bm9uc2Vuc2U"), None).await.refused(422, "invalid_cursor");
    }

    async fn more_rows_cost_no_more_statements(db: TestDb) {
        let server = Server::with_usage(db).await;
        // Wait for the statement that notes the key's first use.
        while server.get("/keys").await["items"][0]["last_used_at"].is_null() {
            tokio::task::yield_now().await;
        }
        let costs = async || {
            let mut costs = Vec::new();
            for path in all_lists() {
                let before = server.service.store().statements();
                server.get(&format!("{path}?limit=1000")).await;
                costs.push((path, server.service.store().statements() - before));
            }
            costs
        };
        // The regular queries of the service itself are counted with the list that is requested meanwhile.
        let least = async || {
            let mut least = costs().await;
            for _ in 0..2 {
                for ((_, least), (_, again)) in least.iter_mut().zip(costs().await) {
                    *least = again.min(*least);
                }
            }
            least
        };
        let few = least().await;
        fill(&server, 0).await;
        fill(&server, 1).await;
        let many = least().await;
        assert_eq!(few, many);
        assert!(many.iter().all(|(_, statements)| *statements <= 6), "{many:?}");
        // Ranks come from what is published, and those of the day before from memory.
        assert_eq!(many.iter().find(|(path, _)| path.ends_with("/fair-share-status")).unwrap().1, 0);
    }

    async fn buckets_are_filtered_by_day_and_entity(db: TestDb) {
        let server = Server::new(db).await;
        let days = json!({"status": "TERMINATED", "terminated_at": "2026-01-12T12:00:00Z"});
        let row = with(kernel("k", "alice", "vision", "2026-01-10T12:00:00Z"), &days);
        server.call("POST", &group("/kernels"), Some(&row)).await.json(200);
        server.tick().await;
        let starts = async |query: &str| {
            let found = server.get(&group(&format!("/usage-buckets/{query}"))).await;
            let rows = found["items"].as_array().unwrap().iter();
            rows.map(|b| b["period_start"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(starts("users").await, ["2026-01-10", "2026-01-11", "2026-01-12"]);
        assert_eq!(starts("users?from=2026-01-11").await, ["2026-01-11", "2026-01-12"]);
        assert_eq!(starts("projects?to=2026-01-11").await, ["2026-01-10", "2026-01-11"]);
        assert_eq!(starts("domains?from=2026-01-11&to=2026-01-11").await, ["2026-01-11"]);
        assert_eq!(starts("domains?domain_name=research").await.len(), 3);
        assert_eq!(starts("domains?domain_name=RESEARCH").await.len(), 0);
        assert_eq!(starts(&format!("users?user_uuid={}&project_id={}", id("alice"), id("vision"))).await.len(), 3);
        assert_eq!(starts(&format!("users?user_uuid={}", id("bob"))).await.len(), 0);
        let bucket = server.get(&group("/usage-buckets/users?limit=1")).await["items"][0].clone();
        assert_eq!(bucket["resource_usage"], json!({"cpu": "43200"}));
        assert_eq!((&bucket["user_uuid"], &bucket["domain_name"]), (&json!(id("alice")), &json!("research")));
        let domain = server.get(&group("/usage-buckets/domains?limit=1")).await["items"][0].clone();
        assert!(domain.get("user_uuid").is_none() && domain.get("project_id").is_none());
    }
}
