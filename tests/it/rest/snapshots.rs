//! Snapshots of the running kernels end the missing ones.

use axum::body::Body;
use futures::stream;
use serde_json::{Value, json};

use super::support::{Answer, NOW, Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const NDJSON: &str = "application/x-ndjson";

fn running(name: &str) -> Value {
    kernel(name, "alice", "vision", "2026-01-13T10:00:00Z")
}

fn snapshot(query: &str) -> String {
    group(&format!("/kernels/snapshot?taken_at={query}"))
}

async fn send(server: &Server, query: &str, names: &[&str]) -> Answer {
    let rows: Vec<Value> = names.iter().map(|name| running(name)).collect();
    server.call("POST", &snapshot(query), Some(&json!(rows))).await
}

async fn status(server: &Server, name: &str) -> (String, Value, Value) {
    let found = server.get(&group(&format!("/kernels/{}", id(name)))).await;
    (found["status"].as_str().unwrap().to_owned(), found["terminated_at"].clone(), found["end_inferred"].clone())
}

async fn report(server: &Server, rows: &[Value]) {
    let answer = server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200);
    assert_eq!(answer["rejected"], 0, "{answer}");
}

/// Slot-seconds of the kernel's slices.
async fn used(server: &Server, name: &str) -> i64 {
    let found = server.get(&group(&format!("/kernels/{}", id(name)))).await;
    let usage = |slice: &Value| slice["resource_usage"]["cpu"].as_str().unwrap().parse::<i64>().unwrap();
    found["slices"].as_array().unwrap().iter().map(usage).sum()
}

on_both! {
    async fn what_is_missing_ended_when_the_snapshot_was_taken(db: TestDb) {
        let server = Server::new(db).await;
        report(&server, &["a", "b", "c", "d"].map(running)).await;
        assert_eq!(send(&server, "2026-01-13T12:00:00Z", &["a", "b", "c", "d"]).await.json(200)["ended"], 0);
        let pending = with(running("waits"), &json!({"status": "PENDING", "started_at": null}));
        let later = with(running("later"), &json!({"started_at": "2026-01-13T12:00:30.5Z"}));
        report(&server, &[pending, later]).await;
        server.clock.set("2026-01-13T12:01:00Z");
        // Reported after the snapshot was taken.
        report(&server, &[running("c"), with(running("new"), &json!({"started_at": "2026-01-13T11:59:00Z"}))]).await;
        let answer = send(&server, "2026-01-13T12:00:30Z", &["a"]).await.json(200);
        assert_eq!(answer, json!({
            "accepted": 1, "changed": 0, "rejected": 0, "errors": [], "ended": 2, "ended_ids": sorted(&["b", "d"]),
        }));
        assert_eq!(status(&server, "b").await, ("TERMINATED".into(), json!("2026-01-13T12:00:30Z"), json!(true)));
        for name in ["a", "later", "new"] {
            assert_eq!(status(&server, name).await, ("RUNNING".into(), json!(null), json!(false)), "{name}");
        }
        assert_eq!(status(&server, "waits").await.0, "PENDING");
        server.tick().await;
        server.assert_conserved().await;
        let entry = server.get("/audit-log?action=kernels.end_inferred").await["items"][0].clone();
        assert_eq!((&entry["after"]["ended"], &entry["after"]["why"]), (&json!(2), &json!("snapshot")));
        // The same once more ends nothing; an older one is refused.
        assert_eq!(send(&server, "2026-01-13T12:00:30Z", &["a"]).await.json(200)["ended"], 0);
        send(&server, "2026-01-13T12:00:29Z", &["a"]).await.refused(409, "stale_snapshot");
    }

    async fn it_says_when_what_is_missing_was_last_seen(db: TestDb) {
        let server = Server::new(db).await;
        report(&server, &["a", "b", "c"].map(running)).await;
        server.clock.set("2026-01-13T12:10:00Z");
        assert_eq!(send(&server, "2026-01-13T12:09:59Z", &["a", "b", "c"]).await.json(200)["ended"], 0);
        server.clock.set("2026-01-13T12:11:00Z");
        report(&server, &[running("b")]).await;
        server.clock.set("2026-01-13T12:20:00Z");
        server.tick().await;
        let query = "2026-01-13T12:20:00Z&ended_at=last_seen&force=true";
        assert_eq!(send(&server, query, &["a"]).await.json(200)["ended"], 2);
        assert_eq!(status(&server, "b").await.1, "2026-01-13T12:11:00Z");
        assert_eq!(status(&server, "c").await.1, "2026-01-13T12:09:59Z");
        server.tick().await;
        assert_eq!((used(&server, "b").await, used(&server, "c").await), (7_860, 7_799));
        server.assert_conserved().await;
    }

    async fn what_looks_like_a_mistake_ends_nothing(db: TestDb) {
        let server = Server::new(db).await;
        report(&server, &["a", "b", "c", "d"].map(running)).await;
        server.clock.set("2026-01-13T12:01:00Z");
        let now = "2026-01-13T12:01:00Z";
        for names in [&[][..], &["a"]] {
            let answer = send(&server, now, names).await;
            answer.refused(409, "confirmation_needed");
            let problem = answer.json(409);
            assert_eq!(problem["counts"], json!({"present": names.len(), "would_end": 4 - names.len(), "running": 4}));
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(&format!("end {} of 4", 4 - names.len())), "{detail}");
        }
        send(&server, "2026-01-13T12:02:00.000001Z", &["a"]).await.refused(422, "out_of_range");
        server.call("POST", &group("/kernels/snapshot"), Some(&json!([]))).await.refused(422, "missing_field");
        send(&server, "noon", &[]).await.refused(422, "invalid_value");
        send(&server, "2026-01-13T12:01:00Z&ended_at=soon", &[]).await.refused(422, "invalid_value");
        let nameless = json!([running("a"), running("b"), running("c"), {"status": "RUNNING"}]);
        let answer = server.call("POST", &snapshot(now), Some(&nameless)).await;
        assert_eq!(answer.refused(422, "incomplete_snapshot"), ["/3/kernel_id"]);
        let cut = vec![Ok(running("a").to_string() + "\n"), Err(std::io::Error::other("gone"))];
        let body = Body::from_stream(stream::iter(cut));
        server.raw("POST", &snapshot(now), NDJSON, body).await.refused(400, "incomplete_body");
        server.raw("POST", &snapshot(now), "application/json", "[").await.refused(400, "malformed_json");
        for name in ["a", "b", "c", "d"] {
            assert_eq!(status(&server, name).await.0, "RUNNING", "{name}");
        }
        // A row that is refused is present all the same.
        let rows = json!([running("a"), running("b"), with(running("c"), &json!({"status": "TERMINATED"}))]);
        let answer = server.call("POST", &snapshot(now), Some(&rows)).await.json(200);
        assert_eq!((&answer["rejected"], &answer["ended_ids"]), (&json!(1), &json!([id("d")])));
        assert_eq!(send(&server, "2026-01-13T12:01:01Z&force=true", &[]).await.json(200)["ended"], 3);
        // Where nothing runs an empty one needs no force.
        assert_eq!(send(&server, "2026-01-13T12:01:02Z", &[]).await.json(200)["ended"], 0);
        let key = server.key_for(fairshared::service::Role::Viewer, None).await;
        server.call_as(&key, "POST", &snapshot(now), Some(&json!([]))).await.refused(403, "forbidden");
    }

    async fn a_later_report_takes_the_end_back(db: TestDb) {
        let server = Server::new(db).await;
        for (round, (policy, hours, missed)) in
            [("interpolate", 24, 0), ("interpolate", 0, 1_800), ("ignore", 24, 1_800)].into_iter().enumerate()
        {
            server.options(&json!({"gap_policy": policy, "max_gap_hours": hours})).await;
            for by_snapshot in [false, true] {
                let hour = 12 + 2 * round + usize::from(by_snapshot);
                let at = |minute: usize| format!("2026-01-13T{hour:02}:{minute:02}:00Z");
                let name = format!("k{hour}");
                server.clock.set(&at(0));
                let own = with(running(&name), &json!({"started_at": at(0)}));
                report(&server, std::slice::from_ref(&own)).await;
                server.clock.set(&at(10));
                server.tick().await;
                assert_eq!(send(&server, &format!("{}&force=true", at(10)), &[]).await.json(200)["ended"], 1);
                server.clock.set(&at(20));
                server.tick().await;
                assert_eq!(used(&server, &name).await, 600);
                server.clock.set(&at(40));
                if by_snapshot {
                    let answer = server.call("POST", &snapshot(&at(40)), Some(&json!([own]))).await.json(200);
                    assert_eq!((&answer["accepted"], &answer["ended"]), (&json!(1), &json!(0)));
                } else {
                    report(&server, std::slice::from_ref(&own)).await;
                }
                assert_eq!(status(&server, &name).await, ("RUNNING".into(), json!(null), json!(false)));
                server.clock.set(&at(50));
                server.tick().await;
                let expected = 3_000 - missed;
                assert_eq!(used(&server, &name).await, expected, "{policy} {hours} {by_snapshot}");
                let end = with(own, &json!({"status": "TERMINATED", "terminated_at": at(50)}));
                report(&server, &[end]).await;
                server.tick().await;
                assert_eq!(used(&server, &name).await, expected);
                server.assert_conserved().await;
            }
        }
    }

    async fn an_end_that_is_told_replaces_one_that_was_inferred(db: TestDb) {
        let server = Server::new(db).await;
        report(&server, &["a", "b"].map(running)).await;
        server.clock.set("2026-01-13T12:10:00Z");
        server.tick().await;
        send(&server, "2026-01-13T12:10:00Z&force=true", &[]).await.json(200);
        let told = |name: &str, end: &str| with(running(name), &json!({"status": "TERMINATED", "terminated_at": end}));
        server.clock.set("2026-01-13T12:20:00Z");
        report(&server, &[told("a", "2026-01-13T12:05:00Z"), told("b", "2026-01-13T12:15:00Z")]).await;
        server.tick().await;
        assert_eq!((used(&server, "a").await, used(&server, "b").await), (7_500, 8_100));
        assert_eq!(status(&server, "b").await, ("TERMINATED".into(), json!("2026-01-13T12:15:00Z"), json!(false)));
        server.assert_conserved().await;
    }

    async fn a_snapshot_of_many_writes_no_row_for_what_is_as_it_was(db: TestDb) {
        let server = Server::new(db).await;
        let rows: Vec<Value> = (0..300).map(|n| running(&format!("n{n}"))).collect();
        report(&server, &rows).await;
        let mut counts = Vec::new();
        for (minute, count) in [(1, 300), (2, 300), (3, 160)] {
            let time = format!("2026-01-13T12:{minute:02}:00Z");
            server.clock.set(&time);
            let before = server.service.store().statements();
            let answer = server.call("POST", &snapshot(&time), Some(&json!(rows[..count]))).await.json(200);
            assert_eq!(answer["ended"], 300 - count);
            counts.push(server.service.store().statements() - before);
        }
        assert_eq!(counts[0], counts[1]);
        let seen = fairshared::store::running::load_running_kernels(server.service.store().read(), server.service.group(&crate::support::fixture::admin(), "gpu-cluster").unwrap().key).await.unwrap();
        let reported = crate::support::time(NOW);
        assert!(seen.iter().all(|kernel| kernel.seen_at == Some(reported)));
    }
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut ids: Vec<String> = names.iter().map(|name| id(name).to_string()).collect();
    ids.sort_unstable();
    ids
}
