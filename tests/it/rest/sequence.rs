//! The order of pending workloads.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::id;
use crate::support::on_both;

fn workload(name: &str, user: &str, project: &str) -> Value {
    json!({"workload_id": name, "user_uuid": id(user), "project_id": id(project)})
}

on_both! {
    async fn every_workload_gets_its_place_and_the_figures_that_decided(db: TestDb) {
        let server = Server::with_usage(db).await;
        let body = json!({"workloads": [
            workload("a2", "alice", "vision"), workload("c", "carol", "audio"), workload("b", "bob", "vision"),
            workload("a1", "alice", "vision"), workload("new \"quoted\"\n", "nobody", "nowhere"),
        ]});
        let statements = server.service.store().statements();
        let answer = server.call("POST", &group("/sequence"), Some(&body)).await;
        assert_eq!(answer.header("content-type"), "application/json");
        let answer = answer.json(200);
        // One to find the key, none to sequence.
        assert!(server.service.store().statements() - statements <= 2);
        assert_eq!(answer["sequencer"], "fairshare");
        assert!(answer["message"].as_str().is_some_and(|m| !m.is_empty()));
        assert_eq!(answer["calculated_at"], "2026-01-13T12:00:00Z");
        let status = server.get(&group("/fair-share-status")).await;
        let factor = |at: usize| status["items"][at]["fair_share_factor"].clone();
        assert_eq!(answer["items"], json!([
            {"workload_id": "new \"quoted\"\n", "position": 1, "fair_share_factor": "1", "rank": null},
            {"workload_id": "c", "position": 2, "fair_share_factor": factor(0), "rank": 1},
            {"workload_id": "b", "position": 3, "fair_share_factor": factor(1), "rank": 2},
            {"workload_id": "a2", "position": 4, "fair_share_factor": factor(2), "rank": 3},
            {"workload_id": "a1", "position": 5, "fair_share_factor": factor(2), "rank": 3},
        ]));
        let none = server.call("POST", &group("/sequence"), Some(&json!({"workloads": []}))).await.json(200);
        assert_eq!(none["items"], json!([]));
        let with_limit = |limit: Value| json!({"workloads": body["workloads"], "limit": limit});
        for (limit, count) in [(1, 1), (3, 3), (99, 5)] {
            let first = server.call("POST", &group("/sequence"), Some(&with_limit(json!(limit)))).await.json(200);
            assert_eq!(first["items"].as_array().unwrap()[..], answer["items"].as_array().unwrap()[..count]);
        }
        for wrong in [json!(0), json!(-1), json!("3")] {
            let answer = server.call("POST", &group("/sequence"), Some(&with_limit(wrong))).await;
            assert_eq!(answer.status, 422);
            assert_eq!(answer.json(422)["errors"][0]["pointer"], "/limit");
        }
    }

    async fn the_other_schedulers_order_by_time_and_share(db: TestDb) {
        let server = Server::with_usage(db).await;
        let at = |name: &str, user: &str, time: &str| {
            json!({"workload_id": name, "user_uuid": id(user), "project_id": id("vision"), "submitted_at": time,
                "priority": 3, "requested_slots": {"cpu": "2"}})
        };
        let body = json!({"workloads": [
            at("second", "bob", "2026-01-13T11:00:00Z"), at("third", "alice", "2026-01-13T11:30:00Z"),
            at("first", "alice", "2026-01-13T10:00:00Z"),
        ]});
        for (scheduler, expected) in [
            ("fifo", ["first", "second", "third"]), ("lifo", ["third", "second", "first"]),
            // Bob occupies 10 of 100, alice 20.
            ("drf", ["second", "first", "third"]),
        ] {
            server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler": scheduler}))).await.json(200);
            let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
            let ids: Vec<_> =
                answer["items"].as_array().unwrap().iter().map(|i| i["workload_id"].as_str().unwrap()).collect();
            assert_eq!((answer["sequencer"].as_str(), ids), (Some(scheduler), expected.to_vec()));
        }
    }

    async fn wrong_workloads_are_named(db: TestDb) {
        let server = Server::with_usage(db).await;
        for (change, code, pointer) in [
            (json!({"user_uuid": "alice"}), "invalid_uuid", "/workloads/1/user_uuid"),
            (json!({"submitted_at": "soon"}), "invalid_value", "/workloads/1/submitted_at"),
            (json!({"requested_slots": {"cpu": "-1"}}), "invalid_value", "/workloads/1/requested_slots/cpu"),
            (json!({"priority": 1e12}), "invalid_type", "/workloads/1/priority"),
            (json!({"workload_id": 7}), "invalid_type", "/workloads/1/workload_id"),
            (json!({"colour": "red"}), "unknown_field", "/workloads/1/colour"),
        ] {
            let broken = crate::support::fixture::with(workload("x", "bob", "vision"), &change);
            let body = json!({"workloads": [workload("w", "alice", "vision"), broken]});
            let answer = server.call("POST", &group("/sequence"), Some(&body)).await;
            assert_eq!(answer.refused(422, code), [pointer], "{change}");
        }
    }

    async fn many_workloads_keep_their_number(db: TestDb) {
        let server = Server::with_usage(db).await;
        let owners = [("alice", "vision"), ("bob", "vision"), ("carol", "audio")];
        let workloads: Vec<Value> = (0..20_000)
            .map(|n| workload(&format!("w{n}"), owners[n % 3].0, owners[n % 3].1))
            .collect();
        let sequence = async |mode: &str, limit: usize| {
            let body = json!({"workloads": workloads, "mode": mode, "limit": limit, "explain": true});
            let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
            answer["items"].as_array().unwrap().clone()
        };
        for mode in ["plain", "progressive"] {
            let items = sequence(mode, 20_000).await;
            let names: BTreeSet<_> = items.iter().map(|i| i["workload_id"].as_str().unwrap()).collect();
            assert_eq!((items.len(), names.len()), (20_000, 20_000));
            assert!(items.iter().zip(1u64..).all(|(item, position)| item["position"] == position));
            assert_eq!(items.iter().filter(|item| item["charge"].is_string()).count(), if mode == "plain" { 0 } else { 20_000 });
            // Few are written by one thread.
            assert_eq!(sequence(mode, 500).await, items[..500]);
        }
        let plain = sequence("plain", 20_000).await;
        assert!(plain.windows(2).all(|w| w[0]["rank"].as_u64() <= w[1]["rank"].as_u64()));
    }
}
