//! Undo of changes of queues: they are restored with all that follows from them, or nothing is stored.

use fairshared::service::Role;
use fairshared::store;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use super::division::three_projects;
use super::support::{Server, create_key, group, newest, undo};
use crate::support::fixture::{GROUP, admin};
use crate::support::on_both;

/// Queues as configured, and the amount that each deserves.
async fn queues(server: &Server) -> [Value; 2] {
    let configured = server.service.queues(&admin(), GROUP).unwrap();
    assert_eq!(store::queues::list(server.service.store().read(), GROUP).await.unwrap(), *configured);
    let division = server.get(&group("/division")).await;
    [server.get(&group("/queues")).await["items"].clone(), json!([division["queues"], division["order"]])]
}

/// Makes a change. Returns its audit entry.
async fn change(server: &Server, method: &str, path: &str, body: &Value) -> i64 {
    let answer = server.call(method, &group(path), Some(body)).await;
    assert!(answer.status.is_success(), "{method} {path} {body}: {}", String::from_utf8_lossy(&answer.bytes));
    newest(server).await
}

async fn put(server: &Server, name: &str, body: &Value) -> i64 {
    change(server, "PUT", &format!("/queues/{name}"), body).await
}

async fn delete(server: &Server, name: &str) -> i64 {
    let answer = server.call("DELETE", &group(&format!("/queues/{name}")), None).await;
    assert_eq!(answer.status, 204, "{name}");
    newest(server).await
}

/// All data that a refusal must leave unchanged.
async fn stored(server: &Server) -> (Value, Value, Value) {
    let revision = server.get(&group("")).await["config_revision"].clone();
    (server.get(&group("/queues")).await, server.get("/audit-log").await["total"].clone(), revision)
}

/// Returns the refusal.
async fn refused(server: &Server, entry: i64, status: u16, code: &str) -> Value {
    let before = stored(server).await;
    let answer = undo(server, entry).await;
    answer.refused(status, code);
    assert_eq!(stored(server).await, before);
    answer.json(status)
}

on_both! {
    async fn queues_become_what_they_were_and_what_they_were_made(db: TestDb) {
        let server = three_projects(db).await;
        let start = queues(&server).await;
        let team = json!({"name": "team", "quota": {"gpu": "9"}});
        for (method, path, body) in [
            ("PUT", "/queues/p4", json!({"quota": {"gpu": "4"}})),
            ("PUT", "/queues/p1", json!({"quota": {"gpu": "20"}, "over_quota_weight": {"gpu": 3}, "created_at": "2025-01-01T00:00:00Z"})),
            ("DELETE", "/queues/p3", Value::Null),
            ("PUT", "/queues", json!({"queues": [{"name": "p1", "parent": "team", "priority": 3}, team], "prune": true})),
            ("PUT", "/configuration", json!({"queues": [{"name": "p2", "limit": {"gpu": "7"}}]})),
        ] {
            // A queue that comes back has the age that it had.
            server.clock.advance_seconds(1);
            let entry = if method == "DELETE" { delete(&server, "p3").await } else { change(&server, method, path, &body).await };
            let changed = queues(&server).await;
            assert!(changed[0] != start[0] && changed[1] != start[1], "{path}");
            let undone = undo(&server, entry).await.json(200)["audit_id"].as_i64().unwrap();
            assert_eq!(queues(&server).await, start, "{path}");
            let redone = undo(&server, undone).await.json(200)["audit_id"].as_i64().unwrap();
            assert_eq!(queues(&server).await, changed, "{path}");
            undo(&server, redone).await.json(200);
            assert_eq!(queues(&server).await, start, "{path}");
        }
        let of_p3 = server.get("/audit-log?target=queue:p3").await;
        let actions: Vec<&str> = of_p3["items"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        let undos = ["audit_log.undo"; 3];
        assert_eq!(actions, [&undos[..], &["queues.put"], &undos, &["queue.delete", "queues.put"]].concat());
        assert!(of_p3["items"].as_array().unwrap().iter().all(|entry| entry["undoable"] == true), "{of_p3}");
        // All that was undone is there after a restart, too.
        let Server { fixture, key, .. } = server;
        assert_eq!(queues(&Server::over(fixture.restart().await, key)).await, start);
    }

    async fn a_change_that_was_changed_since_stays(db: TestDb) {
        let server = Server::new(db).await;
        let made = put(&server, "a", &json!({})).await;
        let other = create_key(&server, Role::Admin, None).await;
        let both = json!({"queues": [{"name": "a", "priority": 1}, {"name": "b"}]});
        server.call_as(&other, "PUT", &group("/queues"), Some(&both)).await.json(200);
        let bulk = newest(&server).await;
        let actor = server.get("/audit-log?action=queues.put").await["items"][0]["actor"].clone();
        let said = refused(&server, made, 409, "changed_since").await;
        assert_eq!((&said["audit_id"], &said["actor"]), (&json!(bulk), &actor));
        assert!(said["detail"].as_str().unwrap().starts_with("queue:a was changed since the entry"), "{said}");
        // If one queue of a bulk write was changed since, nothing of the write is undone; another queue does not matter.
        put(&server, "c", &json!({})).await;
        let later = put(&server, "b", &json!({"priority": 2})).await;
        assert_eq!(refused(&server, bulk, 409, "changed_since").await["audit_id"], later);
        undo(&server, later).await.json(200);
        undo(&server, bulk).await.json(200);
        server.call("GET", &group("/queues/b"), None).await.refused(404, "unknown_queue");
        let viewer = create_key(&server, Role::Viewer, None).await;
        let last = put(&server, "c", &json!({"priority": 9})).await;
        let before = stored(&server).await;
        server.call_as(&viewer, "POST", &format!("/audit-log/{last}/undo"), None).await.refused(403, "forbidden");
        assert_eq!(stored(&server).await, before);
    }

    async fn what_does_not_fit_the_queues_of_now_is_refused(db: TestDb) {
        let server = Server::new(db).await;
        let parent = put(&server, "p", &json!({"quota": {"cpu": "4"}})).await;
        let child = put(&server, "k", &json!({"parent": "p"})).await;
        let said = refused(&server, parent, 409, "has_children").await;
        assert_eq!(said["detail"], "queue \"p\" has children, \"k\" among them; remove or move them first");
        let moved = put(&server, "k", &json!({})).await;
        let gone = delete(&server, "p").await;
        let said = refused(&server, moved, 422, "not_undoable").await;
        let detail = format!("the queues cannot be as they were before the entry {moved}: there is no queue \"p\"");
        assert_eq!((&said["errors"][0]["pointer"], &said["errors"][0]["detail"]), (&json!("/id"), &json!(detail)));
        // Once the parent is back all of it is undone, in the reverse order.
        undo(&server, gone).await.json(200);
        undo(&server, moved).await.json(200);
        assert_eq!(server.get(&group("/queues/k")).await["parent"], "p");
        undo(&server, child).await.json(200);
        server.call("GET", &group("/queues/k"), None).await.refused(404, "unknown_queue");
    }

    async fn entries_without_targets_are_held_against_the_queues(db: TestDb) {
        let server = Server::new(db).await;
        let made = put(&server, "a", &json!({})).await;
        let changed = put(&server, "a", &json!({"quota": {"cpu": "2.50"}, "limit": {"mem": "unlimited"}})).await;
        #[allow(clippy::disallowed_methods, reason = "entries of an older version have no targets")]
        server.service.store().write().execute_unprepared("DELETE FROM audit_targets").await.unwrap();
        let said = refused(&server, made, 409, "changed_since").await;
        assert_eq!(said["audit_id"], Value::Null, "{said}");
        undo(&server, changed).await.json(200);
        assert_eq!(server.get(&group("/queues/a")).await["quota"], json!({}));
    }
}
