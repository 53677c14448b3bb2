//! The audit log by date, actor, action and target, and the targets that a migration finds in existing entries.

use serde_json::{Value, json};

use super::support::{Server, create_key, group};
use crate::support::database::TestDb;
use crate::support::fixture::id;
use crate::support::on_both;
use fairshared::service::Role;

/// The reasons of the entries that a query finds.
async fn reasons(server: &Server, query: &str) -> Vec<String> {
    let found = server.get(&format!("/audit-log?{query}")).await;
    let items = found["items"].as_array().unwrap();
    assert_eq!(found["total"], json!(items.len()), "{query}");
    items.iter().map(|entry| entry["reason"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn weigh(server: &Server, items: Value, reason: &str) {
    let body = json!({"items": items, "reason": reason});
    server.call("PUT", &group("/fair-share-weights"), Some(&body)).await.json(200);
}

async fn options(server: &Server, opts: Value, reason: &str) {
    let body = json!({"scheduler_opts": opts, "reason": reason});
    server.call("PATCH", &group("/scheduler-options"), Some(&body)).await.json(200);
}

/// A server with a day of weights and options, by the reasons one to four.
async fn busy(db: TestDb) -> Server {
    let server = Server::with_usage(db).await;
    let user = |name: &str, weight: &str| json!({"target_type": "user", "target_id": id(name), "project_id": id("vision"), "weight": weight});
    let domain = json!({"target_type": "domain", "target_id": "research", "weight": "2"});
    weigh(&server, json!([user("alice", "2"), user("bob", "3"), domain]), "one").await;
    server.clock.set("2026-01-14T12:00:00Z");
    options(&server, json!({"half_life_days": 14, "order": "tiered"}), "two").await;
    server.clock.set("2026-01-15T12:00:00Z");
    // Alice's weight is only confirmed.
    weigh(&server, json!([user("alice", "2"), user("bob", "4")]), "three").await;
    options(&server, json!({"half_life_days": null}), "four").await;
    server
}

async fn check_targets(server: &Server) {
    let of = |name: &str| format!("target=user:{}/{}", id(name), id("vision"));
    for (query, expected) in [
        (of("alice"), &["one"][..]),
        (of("bob"), &["three", "one"]),
        (format!("target=user:{}", id("bob")), &["three", "one"]),
        (format!("target=project:{}", id("vision")), &[]),
        ("target=user:nobody".to_owned(), &[]),
        ("target=domain:research".to_owned(), &["one"]),
        ("target=option:half_life_days".to_owned(), &["four", "two"]),
        ("target=option:order".to_owned(), &["two"]),
        ("target=option:scheduler".to_owned(), &[]),
        ("target=domain:research&resource_group=gpu-cluster".to_owned(), &["one"]),
        ("target=domain:research&resource_group=other".to_owned(), &[]),
        ("target=gpu-cluster&action=weights.put".to_owned(), &["three", "one"]),
    ] {
        assert_eq!(reasons(server, &query).await, expected, "{query}");
    }
}

on_both! {
    async fn entries_are_found_by_date_actor_action_and_target(db: TestDb) {
        let server = busy(db).await;
        check_targets(&server).await;
        let written = "action=weights.put";
        for (query, expected) in [
            ("from=2026-01-14&to=2026-01-14", &["two"][..]),
            ("from=2026-01-14", &["four", "three", "two"]),
            ("from=2026-01-14T12:00:01Z&to=2026-01-15T12:00:00Z", &[]),
            ("from=2026-01-15T12:00:00Z&to=2026-01-15T12:00:01Z", &["four", "three"]),
            ("to=2026-01-13&action=weights.put", &["one"]),
            ("actor=admin&action=weights.put", &["three", "one"]),
            ("actor=nobody", &[]),
        ] {
            assert_eq!(reasons(&server, query).await, expected, "{query}");
        }
        for (query, code, pointer) in [
            ("from=yesterday", "invalid_value", "/from"), ("to=2026-13-01", "invalid_value", "/to"),
            ("from=2026-01-15&to=2026-01-13", "contradiction", "/to"), ("from=2026-01-15&to=2026-01-14", "contradiction", "/to"),
            ("target=%00", "invalid_character", "/target"),
        ] {
            let answer = server.call("GET", &format!("/audit-log?{query}"), None).await;
            assert_eq!(answer.refused(422, code), [pointer], "{query}");
        }
        let asked = server.graphql(
            r#"{ audit_log(target: "option:order", actor: "admin", from: "2026-01-14", to: "2026-01-14") { count edges { node { reason } } } }"#,
        ).await;
        assert_eq!(asked["data"]["audit_log"]["edges"][0]["node"]["reason"], "two", "{asked}");
        let viewer = create_key(&server, Role::Viewer, None).await;
        server.call_as(&viewer, "GET", &format!("/audit-log?{written}"), None).await.refused(403, "forbidden");
        for (path, name) in [(format!("/users/{}", id("bob")), "bob"), (format!("/projects/{}", id("vision")), "vision")] {
            server.call("PUT", &path, Some(&json!({"name": name}))).await.json(200);
        }
        for (target, expected) in [("user:bob", &["three", "one"][..]), ("user:bob/vision", &["three", "one"]), ("user:bob/audio", &[])] {
            assert_eq!(reasons(&server, &format!("target={target}&action=weights.put")).await, expected, "{target}");
        }
    }

    async fn entries_name_users_and_projects_and_say_what_can_be_undone(db: TestDb) {
        let server = busy(db).await;
        let (alice, bob) = (format!("user:{}/{}", id("alice"), id("vision")), format!("user:{}/{}", id("bob"), id("vision")));
        let renamed = json!({"name": "computer-vision", "reason": "renamed"});
        server.call("PUT", &format!("/projects/{}", id("vision")), Some(&renamed)).await.json(200);
        let log = server.get("/audit-log").await;
        let entry = |reason: &str| log["items"].as_array().unwrap().iter().find(|entry| entry["reason"] == reason).unwrap();
        assert_eq!(entry("one")["names"], json!({&alice: "alice in computer-vision", &bob: "bob in computer-vision"}));
        assert_eq!(entry("two")["names"], json!({}));
        assert_eq!(entry("renamed")["names"], json!({(id("vision").to_string()): "computer-vision"}));
        let undoable = ["one", "two", "renamed"].map(|reason| entry(reason)["undoable"].clone());
        assert_eq!(json!(undoable), json!([true, true, false]));
        server.call("POST", &format!("/audit-log/{}/undo", entry("two")["id"]), None).await.refused(409, "changed_since");
        let asked = server.graphql("{ audit_log(action: \"weights.put\") { edges { node { undoable names { label name } } } } }").await;
        let first = &asked["data"]["audit_log"]["edges"][0]["node"];
        let names = first["names"].as_array().unwrap();
        assert!(names.contains(&json!({"label": bob, "name": "bob in computer-vision"})), "{asked}");
        assert_eq!(first["undoable"], true);
    }

    async fn a_list_takes_as_many_statements_however_much_it_finds(db: TestDb) {
        let server = busy(db).await;
        let count = async |query: &str| {
            let before = server.service.store().statements();
            server.get(&format!("/audit-log?{query}")).await;
            server.service.store().statements() - before
        };
        let few = count("target=domain:nowhere").await;
        for n in 0..20 {
            weigh(&server, json!([{"target_type": "domain", "target_id": "research", "weight": n + 3}]), "more").await;
        }
        assert_eq!(count("target=domain:research").await, few);
    }
}
