//! The cluster of version 0.1 goes on: its ranks, its usage and its history are those that version 0.1 showed, and runs continue.

use std::sync::Arc;

use fairshared::service::Service;
use serde_json::{Value, json};

use super::of_version_0_1;
use crate::cli::program::{Server as Program, run};
use crate::rest::support::{Server, group};
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::{ManualClock, on_both};

/// The time at which version 0.1 was stopped.
const STOPPED: &str = "2026-01-13T12:00:00Z";
/// The time of the next run.
const NEXT_RUN: &str = "2026-01-13T13:00:00Z";
const GROUPS: [&str; 2] = [GROUP, "batch"];

/// The keys of the two databases, and the answers of version 0.1: those at [`STOPPED`], and those that it gave when it went on
/// until [`NEXT_RUN`].
fn before() -> Value {
    serde_json::from_str(include_str!("answers.json")).unwrap()
}

/// Fails unless `now` has all that `before` has. It may have more fields.
fn assert_kept(before: &Value, now: &Value, place: &str) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let place = format!("{place}/{key}");
                assert_kept(value, now.get(key).unwrap_or_else(|| panic!("{place} is missing")), &place);
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            assert_eq!(before.len(), now.len(), "{place}: {before:?}, {now:?}");
            for (at, (before, now)) in before.iter().zip(now).enumerate() {
                assert_kept(before, now, &format!("{place}/{at}"));
            }
        }
        _ => assert_eq!(before, now, "{place}"),
    }
}

async fn assert_answers(server: &Server, before: &Value) {
    for row in before.as_array().unwrap() {
        let request = row["request"].as_str().unwrap();
        let (method, path) = request.split_once(' ').unwrap();
        let answer = server.call(method, path, row.get("body")).await.json(200);
        assert_kept(&row["answer"], &answer, request);
    }
}

/// A server of this version over the database, after version 0.1.
async fn server(db: TestDb, keys: &Value) -> Server {
    let key = &keys[if db.postgres_name().is_some() { "postgres" } else { "sqlite" }];
    let store = db.store().await;
    store.migrate_up().await.unwrap();
    let clock = Arc::new(ManualClock::at(STOPPED));
    let service = Service::new(store, Arc::clone(&clock) as _).await.unwrap();
    service.start_serving().await.unwrap();
    Server::over(Fixture { db, clock, service }, key.as_str().unwrap().to_owned())
}

on_both! {
    async fn answers_are_the_same_and_runs_go_on(db: TestDb) {
        let before = before();
        let server = server(of_version_0_1(&db).await, &before["keys"]).await;
        assert_answers(&server, &before["at_end"]).await;
        server.clock.set(NEXT_RUN);
        let started = with(kernel("k7", "erin", "audio", "2026-01-13T12:30:00Z"), &json!({
            "domain_name": "sales", "user_name": "erin", "project_name": "audio",
            "occupied_slots": {"cpu": "4", "cuda.device": "1", "mem": "16Gi"},
        }));
        let reported = server.call("POST", &group("/kernels"), Some(&json!([started]))).await.json(200);
        assert_eq!(reported["rejected"], 0, "{reported}");
        server.service.heartbeat().await.unwrap();
        for (group, job) in GROUPS.iter().flat_map(|group| ["aggregate", "divide"].map(|job| (group, job))) {
            let path = format!("/jobs/{job}/run");
            server.call("POST", &path, Some(&json!({"resource_group": group}))).await.json(200);
        }
        assert_answers(&server, &before["later"]).await;
        for group in GROUPS {
            let found = server.service.audit_conservation(&admin(), group).await.unwrap();
            assert_eq!(found.difference, None, "{group}");
            server.service.rebuild(group).await.unwrap();
        }
        server.assert_conserved().await;
        let user = server.get(&group("/fair-share-status")).await;
        assert!(user["items"].as_array().unwrap().iter().any(|row| row["user_uuid"] == json!(id("erin"))), "{user}");
    }

    async fn commands_wait_for_the_take_over_and_a_server_does_it(db: TestDb) {
        let old = of_version_0_1(&db).await;
        let line = run(&old, ["rank", GROUP]).refused(1);
        assert!(line.ends_with(" lacks 4 migrations; `fairshared migrate up` applies them"), "{line}");
        // A command that makes missing databases leaves one of version 0.1 as it is.
        run(&old, ["keys", "create", "--role", "viewer", "--label", "new"]).refused(1);
        assert_eq!(run(&old, ["migrate", "status", "-o", "csv"]).ok(), "name,status\nm0001_schema,pending\nm0002_connectors,pending\nm0003_forecasts,pending\nm0004_kernel_agents,pending\n");
        assert_eq!(run(&old, ["migrate", "down", "--yes"]).refused(2), "cannot revert 1 migration: the database has 0");
        Program::over(&old.url).kill();
        assert_eq!(run(&old, ["migrate", "status", "-o", "csv"]).ok(), "name,status\nm0001_schema,applied\nm0002_connectors,applied\nm0003_forecasts,applied\nm0004_kernel_agents,applied\n");
        run(&old, ["rank", GROUP]).ok();
    }

    async fn a_database_before_the_last_step_of_version_0_1_is_refused(db: TestDb) {
        let old = of_version_0_1(&db).await;
        old.execute("DELETE FROM seaql_migrations WHERE version > 'm0023_revision_tags'").await;
        let refused = async || {
            for command in ["serve", "rank g", "keys list", "migrate up", "migrate status", "migrate down", "audit", "keys create --role viewer --label x"] {
                let line = run(&old, command.split(' ')).refused(1);
                assert_eq!(
                    line,
                    "the database was made by version 0.1 of fairshared and lacks its last migrations, from m0024_share_rows on; run \
                     `fairshared migrate up` of the last version 0.1 first, and this version takes the database over then",
                    "{command}"
                );
            }
        };
        refused().await;
        // A later step does not stand for an earlier one.
        old.execute("UPDATE seaql_migrations SET version = 'm0028_usage_charge_class' WHERE version = 'm0023_revision_tags'").await;
        let line = run(&old, ["migrate", "up"]).refused(1);
        assert!(line.contains("from m0023_revision_tags on"), "{line}");
    }

    async fn a_later_step_is_not_taken_over(db: TestDb) {
        let old = of_version_0_1(&db).await;
        old.execute("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m0099_later', 0)").await;
        let line = run(&old, ["migrate", "up"]).refused(1);
        assert!(line.starts_with("the database was made by a newer version of fairshared: this one does not know the migrations m0099_later;"), "{line}");
    }
}
