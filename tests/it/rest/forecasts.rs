//! Forecasts of live groups: when waiting workloads start, what became of forecasts, and what would help.

use fairshared::domain::time::Timestamp;
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{NOW, Server, create_key, group};
use crate::support::database::TestDb;
use crate::support::fixture::{GROUP, kernel, with};
use crate::support::{on_both, time};

/// The time `minutes` after the time at which the tests begin.
fn later(minutes: i64) -> Timestamp {
    time(NOW).plus_micros(minutes * 60_000_000)
}

/// A kernel of the workload `name` that waits for GPUs since 10:00.
fn waits(name: &str, gpus: &str, changes: &Value) -> Value {
    let pending = json!({
        "status": "PENDING", "started_at": null, "occupied_slots": {"gpu": gpus}, "gang_id": name,
        "submitted_at": "2026-01-13T10:00:00Z",
    });
    with(with(kernel(name, "alice", "vision", "2026-01-13T10:00:00Z"), &pending), changes)
}

/// A kernel that runs since `start` minutes after the beginning.
fn runs(name: &str, gpus: &str, start: i64) -> Value {
    waits(name, gpus, &json!({"status": "RUNNING", "started_at": later(start), "submitted_at": later(start)}))
}

/// A kernel that ran from `start` to `end`, in minutes after the beginning.
fn ran(name: &str, gpus: &str, start: i64, end: i64) -> Value {
    with(runs(name, gpus, start), &json!({"status": "TERMINATED", "terminated_at": later(end)}))
}

async fn report(server: &Server, kernels: &[Value]) {
    let answer = server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200);
    assert_eq!(answer["rejected"], 0, "{answer}");
}

async fn make_forecasts(server: &Server) -> Value {
    let body = json!({"resource_group": GROUP});
    let runs = server.call("POST", "/jobs/forecast/run", Some(&body)).await.json(200);
    assert_eq!(runs["items"][0]["status"], "succeeded", "{runs}");
    server.get(&group("/forecasts")).await
}

async fn forecast(server: &Server, workload: &str) -> Value {
    server.get(&group(&format!("/workloads/{workload}"))).await["forecast"].clone()
}

/// The minutes from the beginning to each percentile of a forecast.
fn minutes(forecast: &Value) -> [f64; 3] {
    ["p10", "p50", "p90"].map(|key| {
        let at: Timestamp = forecast[key].as_str().unwrap_or_else(|| panic!("{forecast}")).parse().unwrap();
        (at.micros() - later(0).micros()) as f64 / 6e7
    })
}

/// An agent with 4 GPUs, on which jobs of all of them ran for an hour each in the last days, and one runs since half an hour.
async fn busy(db: TestDb) -> Server {
    let server = Server::new(db).await;
    let agent = json!({"available_slots": {"gpu": "4"}});
    server.call("PUT", &group("/agents/n1"), Some(&agent)).await.json(201);
    let past = |n: i64| ran(&format!("past {n}"), "4", -120 - n * 120, -60 - n * 120);
    let mut kernels: Vec<Value> = (0..30).map(past).collect();
    kernels.push(with(runs("now", "4", -30), &json!({"agent_id": "n1"})));
    report(&server, &kernels).await;
    server
}

on_both! {
    async fn a_waiting_workload_starts_when_the_one_before_it_has_run_as_long_as_usual(db: TestDb) {
        let server = busy(db).await;
        report(&server, &[waits("next", "4", &json!({})), waits("after", "4", &json!({"submitted_at": "2026-01-13T11:00:00Z"}))]).await;
        assert_eq!(forecast(&server, "next").await, Value::Null, "no forecast was made yet");
        let summary = make_forecasts(&server).await;
        let expected = json!({
            "as_of": NOW, "draws": 64, "waiting": 2, "known": 2, "not_known_yet": {}, "starts": 0, "inside": 0, "coverage": null,
            "median_error_seconds": null, "shown": true,
        });
        assert_eq!(summary, expected);
        let next = forecast(&server, "next").await;
        assert_eq!((&next["draws"], &next["as_of"], &next["not_known_yet"]), (&json!(64), &json!(NOW), &Value::Null));
        for at in minutes(&next) {
            assert!((25.0..45.0).contains(&at), "the one that runs has half an hour left: {next}");
        }
        let after = forecast(&server, "after").await;
        for at in minutes(&after) {
            assert!((80.0..110.0).contains(&at), "{after}");
        }
        let listed = server.get(&group("/workloads")).await;
        assert_eq!((&listed["items"][0]["forecast"], &listed["items"][1]["forecast"]), (&next, &after));
        let running = server.get(&group("/workloads?status=running")).await;
        assert_eq!(running["items"][0]["forecast"], Value::Null, "{running}");
        // The same state has the same forecast.
        make_forecasts(&server).await;
        assert_eq!(forecast(&server, "next").await, next);
    }

    async fn the_reason_is_named_where_no_start_is_known(db: TestDb) {
        let server = Server::new(db).await;
        let agent = json!({"available_slots": {"gpu": "4"}});
        server.call("PUT", &group("/agents/n1"), Some(&agent)).await.json(201);
        report(&server, &[with(runs("now", "4", -30), &json!({"agent_id": "n1"})), waits("next", "4", &json!({}))]).await;
        let summary = make_forecasts(&server).await;
        assert_eq!(summary["not_known_yet"], json!({"few_ended_jobs": 1}), "no job has ended");
        assert_eq!(forecast(&server, "next").await, json!({"draws": 64, "not_known_yet": "few_ended_jobs", "as_of": NOW}));
        // Jobs that run for two months.
        let long: Vec<Value> = (0..20).map(|n| ran(&format!("long {n}"), "4", -90_000 - n, -1_000 - n)).collect();
        report(&server, &long).await;
        // The past is read again each minute.
        server.clock.set(&later(1).to_string());
        let larger = waits("large", "5", &json!({}));
        let partly = waits("partly", "1", &json!({"gang_min": 2}));
        report(&server, &[larger, partly]).await;
        let summary = make_forecasts(&server).await;
        assert_eq!(summary["not_known_yet"], json!({"does_not_fit": 2, "nothing_ends": 1}), "{summary}");
        assert_eq!(forecast(&server, "next").await["not_known_yet"], "nothing_ends");
        assert_eq!(forecast(&server, "large").await["not_known_yet"], "does_not_fit");
        assert_eq!(forecast(&server, "partly").await["not_known_yet"], "does_not_fit", "a member is not reported yet");
    }

    async fn what_became_of_a_forecast_is_kept(db: TestDb) {
        let server = busy(db).await;
        let cancelled = waits("cancelled", "1", &json!({"submitted_at": "2026-01-13T11:30:00Z"}));
        report(&server, &[waits("next", "4", &json!({})), cancelled.clone()]).await;
        make_forecasts(&server).await;
        let p50: Timestamp = forecast(&server, "next").await["p50"].as_str().unwrap().parse().unwrap();
        // The job ends, the next one starts ten minutes after the median, and the other one is cancelled.
        let start = p50.plus_micros(600_000_000);
        server.clock.set(&start.plus_micros(60_000_000).to_string());
        let started = waits("next", "4", &json!({"status": "RUNNING", "started_at": start, "agent_id": "n1"}));
        let cancelled = with(cancelled, &json!({"status": "TERMINATED", "terminated_at": later(20)}));
        report(&server, &[ran("now", "4", -30, 30), started.clone(), cancelled]).await;
        let summary = make_forecasts(&server).await;
        assert_eq!((&summary["starts"], &summary["waiting"]), (&json!(1), &json!(0)), "{summary}");
        assert_eq!(summary["median_error_seconds"], 600, "{summary}");
        let again = make_forecasts(&server).await;
        assert_eq!(again["starts"], 1, "a start counts once");
        // A workload that starts and ends between two forecasts.
        report(&server, &[waits("short", "4", &json!({"submitted_at": start}))]).await;
        make_forecasts(&server).await;
        server.clock.set(&start.plus_micros(3_600_000_000).to_string());
        let end = start.plus_micros(3_000_000_000);
        let ended = json!({"status": "TERMINATED", "started_at": start.plus_micros(1_800_000_000), "terminated_at": end});
        report(&server, &[waits("short", "4", &ended)]).await;
        let summary = make_forecasts(&server).await;
        assert_eq!(summary["starts"], 2, "{summary}");
        let metrics = String::from_utf8(server.call("GET", "/metrics", None).await.bytes.to_vec()).unwrap();
        assert!(metrics.contains("fairshared_forecast_starts{resource_group=\"gpu-cluster\"} 2"), "{metrics}");
    }

    async fn forecasts_that_were_wrong_are_not_shown(db: TestDb) {
        let server = busy(db).await;
        let names: Vec<String> = (0..50).map(|n| format!("w{n:02}")).collect();
        report(&server, &names.iter().map(|name| waits(name, "4", &json!({}))).collect::<Vec<_>>()).await;
        make_forecasts(&server).await;
        assert!(forecast(&server, "w00").await["p50"].is_string());
        // All of them start ten days later.
        let start = later(14_400);
        server.clock.set(&start.plus_micros(60_000_000).to_string());
        let changes = json!({"status": "TERMINATED", "started_at": start, "terminated_at": start.plus_micros(30_000_000)});
        report(&server, &names.iter().map(|name| waits(name, "4", &changes)).collect::<Vec<_>>()).await;
        report(&server, &[waits("next", "4", &json!({}))]).await;
        let summary = make_forecasts(&server).await;
        assert_eq!((&summary["starts"], &summary["inside"], &summary["shown"]), (&json!(50), &json!(0), &json!(false)), "{summary}");
        assert_eq!(summary["not_known_yet"], json!({"low_coverage": 1}), "{summary}");
        assert_eq!(forecast(&server, "next").await["not_known_yet"], "low_coverage");
        assert_eq!(server.get(&group("/workloads/next?helps=true")).await["helps"], json!([]));
    }

    async fn all_interfaces_show_the_same_forecast(db: TestDb) {
        let server = busy(db).await;
        report(&server, &[waits("next", "4", &json!({}))]).await;
        make_forecasts(&server).await;
        let next = forecast(&server, "next").await;
        let sequence = async |body: Value| server.call("POST", &group("/sequence"), Some(&body)).await.json(200)["items"][0].clone();
        assert_eq!(sequence(json!({"forecast": true})).await["forecast"], next);
        assert_eq!(sequence(json!({})).await.get("forecast"), None);
        let fields = "p10 p50 p90 draws not_known_yet as_of";
        let query = format!(
            "{{ workload(resource_group: \"{GROUP}\", workload_id: \"next\") {{ forecast {{ {fields} }} helps {{ change }} }} \
             forecasts(resource_group: \"{GROUP}\") {{ waiting known not_known_yet }} \
             sequence(resource_group: \"{GROUP}\", input: \"{{\\\"forecast\\\": true}}\") {{ items {{ forecast {{ p50 }} }} }} }}"
        );
        let data = server.graphql(&query).await["data"].clone();
        assert_eq!(data["workload"]["forecast"], with(next.clone(), &json!({"not_known_yet": null})));
        assert_eq!(data["workload"]["helps"], Value::Null);
        assert_eq!(data["forecasts"], json!({"waiting": 1, "known": 1, "not_known_yet": "{}"}));
        assert_eq!(data["sequence"]["items"][0]["forecast"]["p50"], next["p50"]);
        // Users see those of their own workloads.
        for (user, status) in [("alice", 200), ("bob", 404)] {
            let key = create_key(&server, Role::User, Some(user)).await;
            let answer = server.call_as(&key, "GET", &group("/workloads/next"), None).await.json(status);
            assert_eq!(answer["forecast"], if status == 200 { next.clone() } else { Value::Null });
        }
    }

    async fn another_server_shows_the_forecasts_that_are_stored(db: TestDb) {
        let server = busy(db).await;
        report(&server, &[waits("next", "4", &json!({}))]).await;
        make_forecasts(&server).await;
        let next = forecast(&server, "next").await;
        let Server { fixture, key, .. } = server;
        let server = Server::over(fixture.restart().await, key);
        assert_eq!(forecast(&server, "next").await, next);
        server.clock.set(&later(9).to_string());
        assert_eq!(forecast(&server, "next").await, next, "with its age");
        server.clock.set(&later(11).to_string());
        assert_eq!(forecast(&server, "next").await, Value::Null, "too old");
    }

    async fn a_clock_that_was_set_back_hides_no_new_forecast(db: TestDb) {
        let server = busy(db).await;
        report(&server, &[waits("next", "4", &json!({}))]).await;
        make_forecasts(&server).await;
        server.clock.set(&later(-30).to_string());
        assert_eq!(forecast(&server, "next").await, Value::Null, "it is of a time that has not come");
        make_forecasts(&server).await;
        assert_eq!(forecast(&server, "next").await["as_of"], json!(later(-30)));
    }

    async fn a_workload_that_cannot_start_as_it_is_may_be_helped(db: TestDb) {
        let server = busy(db).await;
        report(&server, &[waits("large", "6", &json!({}))]).await;
        make_forecasts(&server).await;
        let large = server.get(&group("/workloads/large?helps=true")).await;
        assert_eq!(large["forecast"]["not_known_yet"], "does_not_fit");
        let helps = large["helps"].as_array().unwrap();
        assert_eq!((helps.len(), &helps[0]["change"], &helps[0]["as_of"]), (1, &json!("half_slots"), &json!(NOW)), "{large}");
        let key = create_key(&server, Role::User, Some("alice")).await;
        let own = server.call_as(&key, "GET", &group("/workloads/large?helps=true"), None).await.json(200);
        assert_eq!(own["helps"], large["helps"]);
    }

    async fn changes_that_help_are_those_with_an_earlier_start(db: TestDb) {
        let server = busy(db).await;
        let queues = json!({"queues": [{"name": "full", "limit": {"gpu": "2"}}, {"name": "wide"}]});
        server.call("PUT", &group("/queues"), Some(&queues)).await.json(200);
        let other = |name: &str, hour: u32| waits(name, "4", &json!({"submitted_at": format!("2026-01-13T0{hour}:00:00Z")}));
        report(&server, &[other("first", 1), other("second", 2), waits("mine", "2", &json!({"queue": "full"}))]).await;
        make_forecasts(&server).await;
        let shown = server.get(&group("/workloads/mine?helps=true")).await;
        let changes: Vec<&str> = shown["helps"].as_array().unwrap().iter().map(|help| help["change"].as_str().unwrap()).collect();
        assert!(changes.contains(&"next_in_priority"), "{shown}");
        let now = minutes(&shown["forecast"]);
        for help in shown["helps"].as_array().unwrap() {
            assert!(minutes(help)[1] < now[1], "{shown}");
        }
        let first = server.get(&group("/workloads/first?helps=true")).await;
        assert_eq!(first["helps"], json!([]), "it is the next one, and needs the room of the one that runs: {first}");
        let running = server.get(&group("/workloads/now?helps=true")).await;
        assert_eq!((&running["helps"], &running["forecast"]), (&json!([]), &Value::Null));
    }
}
