//! Queues: configured one by one and all at once, with every error.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, kernel, with};
use crate::support::on_both;

async fn put(server: &Server, name: &str, body: &Value) -> Value {
    let answer = server.call("PUT", &group(&format!("/queues/{name}")), Some(body)).await;
    assert!([200, 201].contains(&answer.status.as_u16()), "{}", String::from_utf8_lossy(&answer.bytes));
    answer.json(answer.status.as_u16())
}

async fn put_all(server: &Server, body: &Value) -> super::support::Answer {
    server.call("PUT", &group("/queues"), Some(body)).await
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|q| q["name"].as_str().unwrap()).collect()
}

on_both! {
    async fn one_by_one(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/queues/research");
        let body = json!({"quota": {"cuda.device": 10, "cpu": "unlimited"}, "limit": {"mem": "0.50"}, "reason": "grant 7"});
        let created = server.call("PUT", &path, Some(&body)).await.json(201);
        let whole = json!({
            "name": "research", "parent": null, "priority": 0, "weight": "1", "mode": "fair", "created_at": "2026-01-13T12:00:00Z",
            "quota": {"cpu": "unlimited", "cuda.device": "10"}, "limit": {"mem": "0.5"}, "guarantee": {}, "over_quota_weight": "1",
            "children_over_quota_by": "weight", "min_share_ratio": "0", "reclaimable": true, "preempt_min_runtime": null,
            "reclaim_min_runtime": null,
        });
        assert_eq!(created["queue"], whole);
        assert_eq!(server.get(&path).await, whole);
        // A replacement keeps the age and nothing else.
        server.clock.advance_seconds(60);
        let child = json!({"parent": "research", "priority": -3, "weight": 2.5, "mode": "fifo", "over_quota_weight": {"cpu": 2},
            "children_over_quota_by": "quota", "min_share_ratio": "0.25", "reclaimable": false, "preempt_min_runtime": 60, "reclaim_min_runtime": 90});
        put(&server, "vision", &child).await;
        let replaced = server.call("PUT", &path, Some(&json!({"name": "research", "quota": {"cuda.device": "4"}}))).await.json(200);
        assert_eq!((&replaced["queue"]["created_at"], &replaced["queue"]["limit"]), (&whole["created_at"], &json!({})));
        let vision = server.get(&group("/queues/vision")).await;
        assert_eq!((&vision["over_quota_weight"], &vision["weight"], &vision["mode"]), (&json!({"cpu": "2"}), &json!("2.5"), &json!("fifo")));
        // The answer of a read is accepted unchanged.
        assert_eq!(put(&server, "vision", &vision).await["queue"], vision);
        assert_eq!(names(&server.get(&group("/queues")).await), ["research", "vision"]);
        let entries = server.get("/audit-log?action=queue.put").await;
        let told: Vec<_> = entries["items"].as_array().unwrap().iter().map(|e| (e["target"].clone(), e["reason"].clone())).collect();
        // The last write changed nothing and left no entry.
        assert_eq!(told, [(json!("research"), Value::Null), (json!("vision"), Value::Null), (json!("research"), json!("grant 7"))]);
        assert_eq!(entries["items"][2]["after"]["quota"], json!({"cpu": "unlimited", "cuda.device": "10"}));
        // Leaves first.
        server.call("DELETE", &path, None).await.refused(409, "has_children");
        assert_eq!(server.call("DELETE", &group("/queues/vision?reason=merged"), None).await.status, 204);
        assert_eq!(server.call("DELETE", &path, None).await.status, 204);
        let entry = server.get("/audit-log?action=queue.delete").await["items"][1].clone();
        assert_eq!((&entry["reason"], &entry["before"]["parent"], &entry["after"]), (&json!("merged"), &json!("research"), &Value::Null));
        server.call("GET", &path, None).await.refused(404, "unknown_queue");
        server.call("DELETE", &path, None).await.refused(404, "unknown_queue");
    }

    async fn all_at_once(db: TestDb) {
        let server = Server::new(db).await;
        // Children may come before their parents.
        let body = json!({"queues": [
            {"name": "a1", "parent": "a", "quota": {"cpu": "6"}}, {"name": "a", "quota": {"cpu": "4"}}, {"name": "b"},
        ], "reason": "start"});
        let written = put_all(&server, &body).await.json(200);
        assert_eq!((&written["created"], &written["changed"], &written["deleted"]), (&json!(3), &json!(0), &json!(0)));
        // A likely mistake causes a warning, not a refusal.
        assert!(written["warnings"].as_array().unwrap().iter().any(|w| w["queue"] == "a"), "{written}");
        let body = json!({"queues": [{"name": "a", "quota": {"cpu": "8"}}, {"name": "c"}]});
        let written = put_all(&server, &body).await.json(200);
        assert_eq!((&written["created"], &written["changed"], &written["deleted"]), (&json!(1), &json!(1), &json!(0)));
        assert_eq!(names(&server.get(&group("/queues")).await), ["a", "a1", "b", "c"]);
        let written = put_all(&server, &json!({"queues": [{"name": "c"}], "prune": true})).await.json(200);
        assert_eq!((&written["created"], &written["changed"], &written["deleted"]), (&json!(0), &json!(0), &json!(3)));
        assert_eq!(names(&server.get(&group("/queues")).await), ["c"]);
        let log = server.get("/audit-log?action=queues.put").await;
        assert_eq!(log["total"], 3);
        assert_eq!(log["items"][2]["reason"], "start");
        assert_eq!(log["items"][0]["after"], json!({"a": null, "a1": null, "b": null}));
    }

    async fn an_unchanged_list_is_not_sent_again(db: TestDb) {
        let server = Server::new(db).await;
        put(&server, "a", &json!({})).await;
        let tag = server.call("GET", &group("/queues"), None).await.header("etag").to_owned();
        assert_eq!(server.get_with(&group("/queues"), "if-none-match", &tag).await.status, 304);
        put(&server, "b", &json!({})).await;
        let changed = server.get_with(&group("/queues"), "if-none-match", &tag).await;
        assert_eq!(names(&changed.json(200)), ["a", "b"]);
        // A page continues after the one before, and reads no SQL.
        let before = server.service.store().statements();
        let first = server.get(&group("/queues?limit=1")).await;
        let second = server.get(&group(&format!("/queues?limit=1&cursor={}", first["next_cursor"].as_str().unwrap()))).await;
        assert_eq!((names(&first), names(&second), &second["total"]), (vec!["a"], vec!["b"], &json!(2)));
        assert_eq!(second.get("next_cursor"), None);
        assert_eq!(server.service.store().statements(), before);
    }

    async fn who_may(db: TestDb) {
        let server = Server::new(db).await;
        put(&server, "a", &json!({})).await;
        for (role, user, reads) in [(Role::Scheduler, None, true), (Role::Viewer, None, true), (Role::User, Some("alice"), false)] {
            let key = server.key_for(role, user).await;
            for path in ["/queues", "/queues/a"] {
                let answer = server.call_as(&key, "GET", &group(path), None).await;
                assert_eq!(answer.status, if reads { 200 } else { 403 }, "{role:?} {path}");
            }
            for (method, path, body) in [("PUT", "/queues/a", json!({})), ("PUT", "/queues", json!({"queues": []})), ("DELETE", "/queues/a", Value::Null)] {
                server.call_as(&key, method, &group(path), Some(&body)).await.refused(403, "forbidden");
            }
        }
        assert_eq!(names(&server.get(&group("/queues")).await), ["a"]);
    }

    async fn what_is_refused(db: TestDb) {
        let server = Server::new(db).await;
        put_all(&server, &json!({"queues": [{"name": "a"}, {"name": "b", "parent": "a"}]})).await.json(200);
        let before = (server.get(&group("/queues")).await, server.get("/audit-log").await["total"].clone());
        for (body, code, pointer) in [
            (json!({"parent": "nowhere"}), "unknown_parent", "/parent"),
            (json!({"parent": "b"}), "cycle", "/parent"),
            (json!({"parent": "a"}), "cycle", "/parent"),
            (json!({"quota": {"cpu": "-1"}}), "invalid_value", "/quota/cpu"),
            (json!({"limit": {"cpu": "NaN"}}), "invalid_value", "/limit/cpu"),
            (json!({"guarantee": {"cpu": "unlimited"}}), "invalid_value", "/guarantee/cpu"),
            (json!({"quota": {"c pu": "1"}}), "invalid_value", "/quota"),
            (json!({"quota": []}), "invalid_type", "/quota"),
            (json!({"weight": "-1"}), "invalid_value", "/weight"),
            (json!({"weight": "1000001"}), "out_of_range", "/weight"),
            (json!({"over_quota_weight": {"cpu": -1}}), "invalid_value", "/over_quota_weight/cpu"),
            (json!({"priority": 1.5}), "invalid_type", "/priority"),
            (json!({"mode": "lifo"}), "invalid_value", "/mode"),
            (json!({"created_at": "noon"}), "invalid_value", "/created_at"),
            (json!({"preempt_min_runtime": -1}), "invalid_value", "/preempt_min_runtime"),
            (json!({"reclaim_min_runtime": 4_294_967_296_u64}), "out_of_range", "/reclaim_min_runtime"),
            (json!({"request": {"cpu": "1"}}), "unknown_field", "/request"),
            (json!({"colour": "red"}), "unknown_field", "/colour"),
            (json!({"name": "b"}), "contradiction", "/name"),
            (json!({"reason": 7}), "invalid_type", "/reason"),
            (json!(["a"]), "invalid_type", ""),
        ] {
            let answer = server.call("PUT", &group("/queues/a"), Some(&body)).await;
            assert_eq!(answer.refused(422, code), [pointer], "{body}");
        }
        for (body, code, pointers) in [
            (json!({"queues": [{"name": "x"}, {"name": "x"}]}), "duplicate_name", vec!["/queues/1/name"]),
            (json!({"queues": [{"name": "x", "parent": "y"}, {"name": "y", "parent": "x"}]}), "invalid", vec!["/queues/0/parent", "/queues/1/parent"]),
            (json!({"queues": [{"name": "c"}, {"name": "d", "parent": "nowhere"}]}), "unknown_parent", vec!["/queues/1/parent"]),
            (json!({"queues": [{"name": "a/b"}]}), "invalid_name", vec!["/queues/0/name"]),
            (json!({"queues": [{}]}), "invalid_name", vec!["/queues/0/name"]),
            (json!({"queues": [{"name": "c", "quota": {"cpu": "-1"}}]}), "invalid_value", vec!["/queues/0/quota/cpu"]),
            (json!({"queues": {}}), "invalid_type", vec!["/queues"]),
            (json!({"prune": true}), "missing_field", vec!["/queues"]),
        ] {
            assert_eq!(put_all(&server, &body).await.refused(422, code), pointers, "{body}");
        }
        // `b` would lose its parent.
        let orphan = put_all(&server, &json!({"queues": [{"name": "b", "parent": "a"}], "prune": true})).await;
        assert_eq!(orphan.refused(422, "unknown_parent"), ["/queues/0/parent"]);
        for (method, path, body) in [("GET", "/queues", Value::Null), ("GET", "/queues/a", Value::Null), ("DELETE", "/queues/a", Value::Null),
            ("PUT", "/queues/a", json!({})), ("PUT", "/queues", json!({"queues": []}))]
        {
            server.call(method, &format!("/resource-groups/none{path}"), Some(&body)).await.refused(404, "unknown_resource_group");
        }
        server.raw("PUT", &group("/queues/a"), "application/json", "{\"quota\":").await.refused(400, "malformed_json");
        assert_eq!((server.get(&group("/queues")).await, server.get("/audit-log").await["total"].clone()), before);
    }

    async fn trees_of_absurd_shape_are_stored(db: TestDb) {
        let server = Server::new(db).await;
        server.agent("node", &json!({"cpu": "8"})).await;
        let wait = |queue: &str| with(kernel("k", "alice", "p", "2026-01-13T00:00:00Z"), &json!({
            "queue": queue, "status": "PENDING", "started_at": null, "occupied_slots": {"cpu": "5"},
        }));
        let share = async |queue: &str| {
            let division = server.get(&group("/division")).await;
            let found = division["queues"].as_array().unwrap().iter().find(|q| q["name"] == queue).unwrap();
            found["fair_share"].clone()
        };
        let wide: Vec<Value> = (0..99_999).map(|n| json!({"name": format!("q{n}"), "parent": "root"})).chain([json!({"name": "root"})]).collect();
        assert_eq!(put_all(&server, &json!({"queues": wide})).await.json(200)["created"], 100_000);
        server.ingest(&[wait("q77777")]).await;
        assert_eq!(share("q77777").await, json!({"cpu": "5"}));
        assert_eq!(server.service.keep_division(GROUP).await.unwrap(), json!({"queues": 100_001}));
        assert_eq!(server.get(&group("/division/history?queue=q77777")).await["items"][0]["fair_share"], json!({"cpu": "5"}));
        server.call("DELETE", &group("/queues/root"), None).await.refused(409, "has_children");
        let name = |n: usize| format!("q{n}");
        let mut chain: Vec<Value> = (0..10_000).map(|n: usize| json!({"name": name(n), "parent": n.checked_sub(1).map(name)})).collect();
        let pruned = put_all(&server, &json!({"queues": chain, "prune": true})).await.json(200);
        assert_eq!((&pruned["changed"], &pruned["deleted"]), (&json!(10_000), &json!(90_000)));
        server.ingest(&[wait("q9999")]).await;
        assert_eq!(share("q9999").await, json!({"cpu": "5"}));
        let before = server.get(&group("/queues?limit=1000")).await;
        chain[0]["parent"] = json!("q9999");
        assert_eq!(put_all(&server, &json!({"queues": chain})).await.refused(422, "invalid").len(), 100);
        assert_eq!(server.get(&group("/queues?limit=1000")).await, before);
        // The same after a restart.
        let Server { fixture, key, .. } = server;
        let server = Server::over(fixture.restart().await, key);
        assert_eq!(server.get(&group("/queues?limit=1000")).await, before);
        assert_eq!(server.get(&group("/queues/q9999")).await["parent"], "q9998");
    }
}
