//! Jobs, audit, gaps, health, metrics.

use serde_json::json;

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel};
use crate::support::on_both;

on_both! {
    async fn jobs_are_listed_run_and_recorded(db: TestDb) {
        let server = Server::new(db).await;
        let row = kernel("k", "alice", "vision", "2026-01-13T11:00:00Z");
        server.call("POST", &group("/kernels"), Some(&row)).await.json(200);
        let jobs = server.get("/jobs").await;
        let names: Vec<_> = jobs["items"].as_array().unwrap().iter().map(|j| j["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["aggregate", "divide", "purge", "rebuild"]);
        let run = server.call("POST", "/jobs/aggregate/run", Some(&json!({"resource_group": GROUP}))).await.json(200);
        let run = run["items"][0].clone();
        assert_eq!((&run["status"], &run["resource_group"]), (&json!("succeeded"), &json!(GROUP)));
        assert_eq!((&run["counts"]["kernels"], &run["counts"]["slices_created"]), (&json!(1), &json!(1)));
        // Without a body: all groups.
        server.group("other", &json!({})).await;
        let all = server.call("POST", "/jobs/rebuild/run", None).await.json(200);
        assert_eq!(all["items"].as_array().unwrap().len(), 2);
        let listed = server.get("/job-runs?job=aggregate").await;
        assert_eq!((&listed["total"], &listed["items"][0]), (&json!(1), &run));
        let last = server.get("/jobs").await["items"][0]["last_runs"].clone();
        assert_eq!(last, json!([run]));
        assert_eq!(server.get("/job-runs?job=nothing").await["total"], 0);
    }

    async fn the_audit_of_a_group_proves_conservation(db: TestDb) {
        let server = Server::with_usage(db).await;
        let audit = server.get(&group("/audit")).await;
        let sum = json!({"cpu": "1512000"});
        assert_eq!(audit, json!({
            "ok": true, "difference": null, "buckets": 7, "records_from": null,
            "totals": {"users": sum, "projects": sum, "domains": sum},
        }));
    }

    async fn gaps_are_visible(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.service.heartbeat().await.unwrap();
        server.clock.advance_seconds(7200);
        let Server { fixture, key, .. } = server;
        let server = Server::over(fixture.restart().await, key);
        server.tick().await;
        let gaps = server.get(&group("/usage-gaps")).await;
        let usage = json!({"cpu": "252000"});
        assert_eq!(gaps["items"], json!([{
            "id": gaps["items"][0]["id"], "started_at": "2026-01-13T12:00:00Z", "ended_at": "2026-01-13T14:00:00Z",
            "duration_seconds": 7200, "handled_at": "2026-01-13T14:00:00Z", "gap_policy": "interpolate", "kernels": 3,
            "recorded_usage": usage, "dropped_usage": {},
        }]));
    }

    async fn every_write_leaves_an_entry_with_its_request(db: TestDb) {
        let server = Server::with_usage(db).await;
        let body = json!({
            "items": [{"target_type": "domain", "target_id": "research", "weight": "2.0"}], "reason": "new grant",
        });
        let written = server.call("PUT", &group("/fair-share-weights"), Some(&body)).await;
        let log = server.get("/audit-log?action=weights.put").await;
        assert_eq!(log["total"], 1);
        let entry = &log["items"][0];
        assert_eq!(entry["request_id"], written.header("x-request-id"));
        assert_eq!((&entry["actor"], &entry["reason"]), (&json!("admin"), &json!("new grant")));
        assert_eq!((&entry["before"], &entry["after"]), (&json!({"domain:research": null}), &json!({"domain:research": "2"})));
        assert!(entry["key_id"].is_string() && entry["at"] == "2026-01-13T12:00:00Z");
        let patch = json!({"scheduler_opts": {"half_life_days": 3}, "reason": "shorter memory"});
        server.call("PATCH", &group("/scheduler-options"), Some(&patch)).await.json(200);
        let newest = server.get("/audit-log?limit=1").await["items"][0].clone();
        assert_eq!((&newest["action"], &newest["reason"]), (&json!("scheduler_options.patch"), &json!("shorter memory")));
    }

    async fn keys_say_what_they_are_for(db: TestDb) {
        let server = Server::new(db).await;
        let body = json!({"role": "user", "label": "alice", "user_uuid": id("alice"), "expires_at": "2027-01-01T00:00:00Z"});
        let created = server.call("POST", "/keys", Some(&body)).await.json(201);
        assert!(created["key"].as_str().unwrap().starts_with("fsk_"));
        let row = server.get("/keys").await["items"][1].clone();
        for key in ["id", "role", "label", "user_uuid", "expires_at", "created_at"] {
            assert_eq!(row[key], created[key], "{key}");
        }
        assert!(row.get("key").is_none());
        for (body, code, pointer) in [
            (json!({"role": "root", "label": "x"}), "unknown_role", "/role"),
            (json!({"role": "user", "label": "x"}), "invalid_user", "/user_uuid"),
            (json!({"role": "admin", "label": "x", "user_uuid": id("alice")}), "invalid_user", "/user_uuid"),
            (json!({"role": "admin", "label": ""}), "invalid_label", "/label"),
            (json!({"role": "admin", "label": "x", "expires_at": "never"}), "invalid_value", "/expires_at"),
        ] {
            assert_eq!(server.call("POST", "/keys", Some(&body)).await.refused(422, code), [pointer], "{body}");
        }
        assert_eq!(server.get("/keys").await["total"], 2);
    }

    async fn health_and_metrics(db: TestDb) {
        let server = Server::with_usage(db).await;
        assert_eq!(server.get("/healthz").await, json!({"status": "ok"}));
        assert_eq!(server.get("/readyz").await, json!({"status": "ok"}));
        server.get(&group("/scheduler-options")).await;
        let answer = server.call("GET", "/metrics", None).await;
        assert!(answer.header("content-type").starts_with("text/plain"));
        let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
        for part in [
            "fairshared_http_requests_total{", "route=\"/resource-groups/{rg}/scheduler-options\"",
            "fairshared_http_request_duration_seconds_bucket{",
            "fairshared_db_statements_total", "fairshared_resource_groups ",
            "fairshared_published_age_seconds{resource_group=\"gpu-cluster\"}",
            "fairshared_ranked_users{resource_group=\"gpu-cluster\"}",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        server.service.store().clone().close().await.unwrap();
        let down = server.call("GET", "/readyz", None).await;
        down.refused(503, "unavailable");
        assert_eq!(down.header("retry-after"), "1");
    }
}
