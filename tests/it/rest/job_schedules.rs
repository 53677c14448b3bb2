//! Schedules of jobs: their form in REST and GraphQL, and runs that start by the service's clock.

use std::sync::Arc;

use fairshared::jobs::{JobRunner, JobSchedules, JobSettings};
use fairshared::server::{self, ServerApp};
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::support::{NOW, Server, create_key};
use crate::support::fixture::{Fixture, GROUP, admin};
use crate::support::on_both;

const TOMORROW_AT_NOON: &str = "2026-01-14T12:00:00Z";

/// Every job with its schedule and its next run.
fn shown(jobs: &Value) -> Vec<(&str, &Value, &Value)> {
    let jobs = jobs.as_array().unwrap().iter();
    jobs.map(|job| (job["name"].as_str().unwrap(), &job["schedule"], &job["next_run_at"])).collect()
}

/// When a job runs next, as a key sees it.
async fn next_run(server: &Server, key: &str, job: &str) -> Value {
    let jobs = server.call_as(key, "GET", "/jobs", None).await.json(200);
    let row = jobs["items"].as_array().unwrap().iter().find(|row| row["name"] == job).unwrap();
    row["next_run_at"].clone()
}

async fn run(server: &Server, job: &str, group: &str) {
    let body = json!({"resource_group": group});
    let runs = server.call("POST", &format!("/jobs/{job}/run"), Some(&body)).await.json(200);
    assert_eq!(runs["items"][0]["status"], "succeeded", "{runs}");
}

/// The runs of a job once there are this many of them, newest first: the start and the trigger of each.
async fn runs_of(server: &Server, job: &str, count: usize) -> Vec<(String, String)> {
    loop {
        let listed = server.get(&format!("/job-runs?job={job}")).await;
        let runs = listed["items"].as_array().unwrap();
        if runs.len() >= count && runs.iter().all(|run| run["status"] == "succeeded") {
            let text = |run: &Value, key: &str| run[key].as_str().unwrap().to_owned();
            return runs.iter().map(|run| (text(run, "started_at"), text(run, "trigger"))).collect();
        }
        tokio::task::yield_now().await;
    }
}

on_both! {
    async fn jobs_show_their_schedules_and_next_runs(db: TestDb) {
        let server = Server::new(db).await;
        // A job that never ran in a group is due since the creation of the group; a first purge waits for a day.
        let (each_second, each_hour, each_day) = (json!("* * * * * *"), json!("0 0 * * * *"), json!("0 0 3 * * *"));
        let (each_night, each_minute) = (json!("0 30 2 * * *"), json!("0 * * * * *"));
        let jobs = server.get("/jobs").await;
        assert_eq!(shown(&jobs["items"]), [
            ("aggregate", &each_second, &json!(NOW)), ("compact", &each_hour, &json!(NOW)), ("divide", &each_second, &json!(NOW)),
            ("forecast", &each_minute, &json!(NOW)), ("purge", &each_day, &json!(TOMORROW_AT_NOON)), ("rebuild", &Value::Null, &Value::Null),
            ("tidy", &each_night, &json!(NOW)),
        ]);
        for job in ["aggregate", "compact", "divide", "forecast", "purge", "rebuild"] {
            run(&server, job, GROUP).await;
        }
        server.call("POST", "/jobs/tidy/run", None).await.json(200);
        let expected = [
            ("aggregate", &each_second, &json!("2026-01-13T12:05:00Z")), ("compact", &each_hour, &json!("2026-01-13T13:00:00Z")),
            ("divide", &each_second, &json!("2026-01-13T12:05:00Z")),
            ("forecast", &each_minute, &json!("2026-01-13T12:01:00Z")), ("purge", &each_day, &json!(TOMORROW_AT_NOON)),
            ("rebuild", &Value::Null, &Value::Null), ("tidy", &each_night, &json!("2026-01-14T02:30:00Z")),
        ];
        let jobs = server.get("/jobs").await;
        assert_eq!(shown(&jobs["items"]), expected);
        let answer = server.graphql("{ jobs { name schedule next_run_at } }").await;
        let mut by_name = shown(&answer["data"]["jobs"]);
        by_name.sort_by_key(|(name, ..)| *name);
        assert_eq!(by_name, expected);
        server.options(&json!({"slice_interval_seconds": 60})).await;
        assert_eq!(next_run(&server, &server.key, "aggregate").await, "2026-01-13T12:01:00Z");
        server.clock.set("2026-01-15T10:00:00Z");
        run(&server, "purge", GROUP).await;
        assert_eq!(next_run(&server, &server.key, "purge").await, "2026-01-16T03:00:00Z");
        // Nothing has started it although it was due.
        assert_eq!(next_run(&server, &server.key, "compact").await, "2026-01-13T13:00:00Z");
    }

    async fn the_next_run_is_the_earliest_in_groups_that_the_key_reaches(db: TestDb) {
        let server = Server::new(db).await;
        run(&server, "compact", GROUP).await;
        server.group("other", &json!({})).await;
        assert_eq!(next_run(&server, &server.key, "compact").await, NOW);
        let new = NewKey {
            role: Role::Viewer, label: "v".into(), user: None, expires_at: None, groups: Some(vec![GROUP.to_owned()]),
        };
        let limited = server.service.create_key(admin(), new).await.unwrap().0;
        assert_eq!(next_run(&server, &limited, "compact").await, "2026-01-13T13:00:00Z");
    }

    async fn a_job_starts_when_its_time_comes_by_the_clock_of_the_service(db: TestDb) {
        let fixture = Fixture::new(db, NOW).await;
        let key = create_key(&fixture, Role::Admin, None).await;
        let schedules = JobSchedules {
            aggregate: None, divide: None, forecast: None, compact: None, purge: None, tidy: None, rebuild: "0 30 4 * * *".parse().ok(),
        };
        let settings = JobSettings { schedules, ..JobSettings::default() };
        let runner = JobRunner::new(Arc::clone(&fixture.service), settings);
        let router = server::router(ServerApp::new(Arc::clone(&fixture.service), Arc::clone(&runner) as _));
        let server = Server { fixture, router, key };
        runner.start().await.unwrap();
        // It never ran, so that it is due from the start.
        let first = (NOW.to_owned(), "schedule".to_owned());
        assert_eq!(runs_of(&server, "rebuild", 1).await, std::slice::from_ref(&first));
        assert_eq!(next_run(&server, &server.key, "rebuild").await, "2026-01-14T04:30:00Z");
        assert_eq!(next_run(&server, &server.key, "aggregate").await, Value::Null);

        server.clock.set("2026-01-14T04:29:59Z");
        server.clock.set("2026-01-14T04:30:00Z");
        let second = ("2026-01-14T04:30:00Z".to_owned(), "schedule".to_owned());
        assert_eq!(runs_of(&server, "rebuild", 2).await, [second.clone(), first.clone()]);
        // A clock that is set back does not stop it.
        server.clock.set("2026-01-14T04:29:00Z");
        let third = ("2026-01-14T04:29:00Z".to_owned(), "schedule".to_owned());
        assert_eq!(runs_of(&server, "rebuild", 3).await, [third, second, first]);
        runner.shutdown().await;
        assert_eq!(server.get("/job-runs?job=aggregate").await["total"], 0);
    }
}
