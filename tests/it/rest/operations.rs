//! Jobs, audit, gaps, health, metrics.

use std::sync::Arc;
use std::time::Duration;

use fairshared::engine::upkeep::health::HealthCondition;
use fairshared::service::keys::NewKey;
use fairshared::service::{Role, Service};
use fairshared::store;
use serde_json::json;

use super::support::{Server, group};
use crate::support::fixture::{GROUP, admin, id, kernel};
use crate::support::{on_both, time};

on_both! {
    async fn jobs_are_listed_run_and_recorded(db: TestDb) {
        let server = Server::new(db).await;
        let row = kernel("k", "alice", "vision", "2026-01-13T11:00:00Z");
        server.call("POST", &group("/kernels"), Some(&row)).await.json(200);
        let jobs = server.get("/jobs").await;
        let names: Vec<_> = jobs["items"].as_array().unwrap().iter().map(|j| j["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["aggregate", "compact", "divide", "forecast", "purge", "rebuild", "tidy"]);
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
        server.call("GET", "/job-runs?job=nothing", None).await.refused(404, "unknown_job");
        assert_eq!(server.get("/job-runs?resource_group=other").await["items"], json!([all["items"][1]]));
        assert_eq!(server.get("/job-runs?failed=true").await["total"], 0);
        let (db, now) = (server.service.store().write(), server.service.clock().now());
        let run = store::jobs::start(db, "aggregate", Some("other"), "schedule", uuid::Uuid::nil(), now).await.unwrap();
        assert_eq!(server.get("/job-runs?failed=true").await["total"], 0, "it runs");
        store::jobs::finish(db, run, "failed", &json!({}), Some("no room".to_owned()), now).await.unwrap();
        let failed = server.get("/job-runs?failed=true&resource_group=other").await;
        assert_eq!((&failed["total"], &failed["items"][0]["error"]), (&json!(1), &json!("no room")));
        assert_eq!(server.get(&format!("/job-runs?failed=true&resource_group={GROUP}")).await["total"], 0);
        let query = r#"{ job_runs(resource_group: "other", failed: true) { edges { node { error } } } }"#;
        assert_eq!(server.graphql(query).await["data"]["job_runs"]["edges"], json!([{"node": {"error": "no room"}}]));
    }

    async fn a_job_of_the_server_runs_once_and_is_of_no_group(db: TestDb) {
        let server = Server::new(db).await;
        server.group("other", &json!({})).await;
        let jobs = server.get("/jobs").await;
        let scopes: Vec<_> = jobs["items"].as_array().unwrap().iter().map(|job| job["scope"].as_str().unwrap()).collect();
        assert_eq!(scopes, ["group", "group", "group", "group", "group", "group", "server"]);
        let of_group = json!({"resource_group": GROUP});
        let refused = server.call("POST", "/jobs/tidy/run", Some(&of_group)).await;
        assert_eq!(refused.refused(422, "job_of_server"), ["/resource_group"]);
        let runs = server.call("POST", "/jobs/tidy/run", None).await.json(200)["items"].clone();
        let counts = json!({"job_runs": 0, "service_runs": 0, "audit_entries": 0});
        assert_eq!(runs.as_array().unwrap().len(), 1);
        assert_eq!((&runs[0]["status"], &runs[0]["resource_group"], &runs[0]["counts"]), (&json!("succeeded"), &json!(null), &counts));
        assert_eq!(server.get("/job-runs?job=tidy").await["items"], runs);
        assert_eq!(server.get("/jobs").await["items"][6]["last_runs"], runs);
        let shown = server.graphql("{ jobs { name scope last_runs { resource_group } } }").await;
        let tidy = shown["data"]["jobs"].as_array().unwrap().iter().find(|job| job["name"] == "tidy").unwrap();
        assert_eq!(tidy, &json!({"name": "tidy", "scope": "server", "last_runs": [{"resource_group": null}]}));
        // A record of a run that is older than a month goes with the next one.
        server.clock.advance_seconds(31 * 86_400);
        let later = server.call("POST", "/jobs/tidy/run", None).await.json(200);
        assert_eq!(later["items"][0]["counts"]["job_runs"], 1);
        // A key that is limited to groups sees no runs of the server, and starts none.
        let new = NewKey {
            role: Role::Admin, label: "limited".into(), user: None, expires_at: None, groups: Some(vec![GROUP.to_owned()]),
        };
        let limited = server.service.create_key(admin(), new).await.unwrap().0;
        let seen = server.call_as(&limited, "GET", "/jobs", None).await.json(200)["items"][6].clone();
        assert_eq!((&seen["name"], &seen["last_runs"], &seen["next_run_at"]), (&json!("tidy"), &json!([]), &json!(null)));
        server.call_as(&limited, "POST", "/jobs/tidy/run", None).await.refused(403, "forbidden");
    }

    async fn a_wrong_clock_holds_jobs_until_it_is_trusted(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.clock.jump("2027-01-13T12:00:00Z");
        for job in ["aggregate", "compact", "divide", "forecast", "purge", "rebuild", "tidy"] {
            let refused = server.call("POST", &format!("/jobs/{job}/run"), None).await;
            refused.refused(503, "clock_untrusted");
            assert_eq!(refused.header("retry-after"), "1");
        }
        server.service.heartbeat().await.unwrap();
        let ready = server.get("/readyz").await;
        assert_eq!((&ready["status"], &ready["reasons"][0]["code"]), (&json!("degraded"), &json!("clock_untrusted")));
        assert_eq!(server.ranking().await.len(), 3);
        server.call("GET", "/readyz?for=writes", None).await.json(200);
        let scheduler = server.key_for(fairshared::service::Role::Scheduler, None).await;
        server.call_as(&scheduler, "POST", "/jobs/trust-clock", None).await.refused(403, "forbidden");
        let trusted = server.call("POST", "/jobs/trust-clock?reason=really", None).await.json(200);
        assert_eq!(trusted, json!({
            "trusted_at": "2027-01-13T12:00:00Z", "was_doubted": true, "reference": "2026-01-13T12:00:00Z",
        }));
        assert_eq!(server.get("/readyz").await, json!({"status": "ready", "reasons": []}));
        let entry = server.get("/audit-log?action=clock.trust").await["items"][0].clone();
        assert_eq!((&entry["reason"], &entry["at"]), (&json!("really"), &json!("2027-01-13T12:00:00Z")));
        server.call("POST", "/jobs/aggregate/run", None).await.json(200);
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
        let missing = server.call("POST", "/keys", Some(&json!({"role": "user", "label": "x"}))).await.json(422);
        assert_eq!(missing["detail"], "`user_uuid` is missing: a key with the role `user` is for one user");
        assert_eq!(server.get("/keys").await["total"], 2);
    }

    async fn health_and_metrics(db: TestDb) {
        let server = Server::with_usage(db).await;
        assert_eq!(server.get("/healthz").await, json!({"status": "ok"}));
        assert_eq!(server.get("/readyz").await, json!({"status": "ready", "reasons": []}));
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
            "fairshared_ingests_waiting{resource_group=\"gpu-cluster\"} 0",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    async fn readiness_names_what_is_wrong(db: TestDb) {
        let server = Server::new(db).await;
        let condition = HealthCondition {
            code: "database_unreachable", detail: "the database does not answer".to_owned(), refuses_writes: true,
        };
        let harmless = HealthCondition { code: "clock_untrusted", refuses_writes: false, ..condition.clone() };
        server.get("/readyz?for=writes").await;
        server.service.health.begin(harmless, server.service.clock().now());
        server.get("/readyz?for=writes").await;
        server.service.health.begin(condition.clone(), server.service.clock().now());
        let reason = |code: &str, refuses_writes: bool| json!({
            "code": code, "detail": condition.detail, "since": "2026-01-13T12:00:00Z", "refuses_writes": refuses_writes,
        });
        let reasons = [reason("clock_untrusted", false), reason("database_unreachable", true)];
        assert_eq!(server.get("/readyz").await, json!({"status": "degraded", "reasons": reasons}));
        let refused = server.call("GET", "/readyz?for=writes", None).await;
        refused.refused(503, "database_unreachable");
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(server.call("GET", "/readyz?for=reads", None).await.refused(422, "invalid_value"), ["/for"]);
        server.service.health.end("database_unreachable");
        server.get("/readyz?for=writes").await;
        server.service.health.drain();
        server.call("GET", "/readyz", None).await.refused(503, "draining");
        server.get("/healthz").await;
    }

    /// Requests for published data with a known key need no database.
    async fn reads_go_on_without_a_database(db: TestDb) {
        let server = Server::with_usage(db).await;
        let user = server.key_for(Role::User, Some("alice")).await;
        // Made ahead of the first project: no group that is published has this user.
        server.call("PUT", &format!("/users/{}", id("dora")), Some(&json!({"name": "dora"}))).await.json(201);
        let calculated = server.get(&group("")).await["calculated_at"].clone();
        assert!(calculated.is_string());
        server.service.store().clone().close().await.unwrap();
        let alice = id("alice");
        let reads = ["", "/scheduler-options", "/fair-share-weights", "/fair-share-status", "/queues", "/division"];
        let rankings = ["/fair-share-status/domains", "/fair-share-status/projects", "/fair-share-status?limit=2"];
        for path in rankings {
            let ranking = server.get(&group(path)).await;
            assert!(ranking["items"].as_array().is_some_and(|rows| rows.len() == 2), "{path}");
            assert_eq!(ranking["calculated_at"], calculated, "{path}");
        }
        for path in [format!("/fair-share-status?user_uuid={alice}"), "/fair-share-status".to_owned()] {
            assert_eq!(server.get(&group(&path)).await["calculated_at"], calculated, "{path}");
        }
        let dora = server.get(&group("/fair-share-status?user=dora")).await;
        assert_eq!((&dora["user_name"], &dora["in_group"], &dora["memberships"]), (&json!("dora"), &json!(false), &json!([])));
        // Only the database shows that there is no such user.
        assert_eq!(server.call("GET", &group("/fair-share-status?user=nobody"), None).await.status, 503);
        for path in reads.map(str::to_owned).into_iter().chain([format!("/fair-share-status?user_uuid={alice}")]) {
            server.get(&group(&path)).await;
        }
        server.get("/resource-groups").await;
        server.call("GET", "/metrics", None).await;
        let workload = json!({"workloads": [{"workload_id": "w", "user_uuid": alice, "project_id": id("vision")}]});
        server.call("POST", &group("/sequence"), Some(&workload)).await.json(200);
        server.call_as(&user, "GET", &group("/fair-share-status"), None).await.json(200);
        server.call_as("fsk_unknown", "GET", &group(""), None).await.refused(401, "unknown_key");
        let refused = server.call("PUT", &group("/agents/n"), Some(&json!({"available_slots": {}}))).await;
        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, "1"));
        server.get("/readyz").await;
    }

    async fn keys_of_other_processes_count_when_they_are_read_again(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/scheduler-options");
        let other = Service::new(server.db.store().await, Arc::clone(&server.clock) as _).await.unwrap();
        let new = NewKey { role: Role::Viewer, label: "v".into(), user: None, expires_at: None, groups: None };
        let (text, key) = other.create_key(admin(), new).await.unwrap();
        // One that is not known here is looked for at once.
        server.call_as(&text, "GET", &path, None).await.json(200);
        let listed = server.get("/keys").await;
        assert_eq!(listed["items"][1]["last_used_at"], "2026-01-13T12:00:00Z");
        server.service.store_key_uses().await.unwrap();
        assert_eq!(other.keys(&admin()).await.unwrap()[1].last_used_at, Some(time("2026-01-13T12:00:00Z")));
        other.revoke_key(admin(), key.id, false).await.unwrap();
        server.service.refresh_keys().await.unwrap();
        server.call_as(&text, "GET", &path, None).await.refused(401, "revoked_key");
        // Known keys cost no statement.
        let before = server.service.store().statements();
        server.get(&path).await;
        assert_eq!(server.service.store().statements(), before);
    }

    async fn keys_are_not_believed_for_ever(db: TestDb) {
        let server = Server::new(db).await;
        server.service.set_key_grace(Some(Duration::ZERO));
        let refused = server.call("GET", &group(""), None).await;
        refused.refused(503, "key_check_unavailable");
        assert_eq!(refused.header("retry-after"), "1");
        server.call_as("fsk_unknown", "GET", &group(""), None).await.refused(401, "unknown_key");
    }
}
