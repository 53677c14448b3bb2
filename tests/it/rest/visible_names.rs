//! Invisible characters, in every field that accepts names.

use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

/// A zero-width space, a change of the writing direction, a private and an unassigned character, a line separator, a
/// variation selector, a filler of Hangul, a joiner, and spaces that look like the common one: no-break, of half a width,
/// of a whole one, and the Braille pattern without dots.
const INVISIBLE: [char; 12] = [
    '\u{200b}', '\u{202e}', '\u{e000}', '\u{378}', '\u{2028}', '\u{fe0f}', '\u{3164}', '\u{200d}', '\u{a0}',
    '\u{2000}', '\u{3000}', '\u{2800}',
];

/// Letters of many scripts, marks that combine with them, and emoji.
const VISIBLE: [&str; 5] = ["Zoë", "मोहन", "نیما", "山田 太郎", "e\u{301}t\u{e9} 🚀"];

fn hidden(c: char) -> String {
    format!("al{c}ice")
}

/// The name as a part of a path.
fn escaped(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Gives a user a name that is refused now.
#[expect(clippy::disallowed_methods, reason = "what an earlier release has stored")]
async fn rename_as_an_earlier_release(server: &Server, from: &str, to: &str) {
    let sql = format!("UPDATE users SET name = '{to}' WHERE name = '{from}'");
    server.service.store().write().execute_unprepared(&sql).await.unwrap();
}

on_both! {
    async fn names_with_them_are_refused_everywhere(db: TestDb) {
        let server = Server::with_usage(db).await;
        for name in INVISIBLE.map(hidden) {
            let part = escaped(&name);
            let empty = json!({});
            let queue = json!({"queues": [{"name": name}]});
            let agents = json!({"agents": [{"agent_id": name, "available_slots": {"cpu": "1"}}]});
            let key = json!({"role": "viewer", "label": name});
            let limited = json!({"role": "viewer", "label": "v", "resource_groups": [name]});
            let row = json!({"day": "2026-01-01", "user": name, "project": "ml", "resource_usage": {"cpu": "1"}});
            for (method, path, body, code) in [
                ("PUT", format!("/resource-groups/{part}"), &empty, "invalid_name"),
                ("PUT", format!("/domains/{part}"), &empty, "invalid_name"),
                ("PUT", format!("/users/{part}"), &empty, "invalid_name"),
                ("PUT", format!("/projects/{part}"), &json!({"domain_name": "research"}), "invalid_name"),
                ("PUT", "/projects/ml".to_owned(), &json!({"domain_name": name}), "invalid_name"),
                ("PUT", format!("/users/{}", id("alice")), &json!({"name": name}), "invalid_name"),
                ("PUT", group(&format!("/agents/{part}")), &json!({"available_slots": {"cpu": "1"}}), "invalid_name"),
                ("PUT", group("/agents"), &agents, "invalid_name"),
                ("PUT", group("/queues"), &queue, "invalid_name"),
                ("PUT", group(&format!("/queues/{part}")), &empty, "invalid_name"),
                ("POST", "/keys".to_owned(), &key, "invalid_label"),
                ("POST", "/keys".to_owned(), &limited, "invalid_name"),
                ("PUT", group("/usage-histories/old"), &json!({"rows": [row], "complete": true}), "invalid_name"),
                ("PUT", group(&format!("/usage-histories/{part}")), &json!({"rows": [], "complete": true}), "invalid_name"),
            ] {
                let answer = server.call(method, &path, Some(body)).await;
                assert_eq!(answer.json(422)["code"], code, "{method} {path} {body}");
            }
            for key in ["user", "project", "domain_name", "agent_id", "queue", "gang_id"] {
                let mut report = with(kernel("k9", "alice", "vision", "2026-01-13T11:00:00Z"), &json!({key: name}));
                for (given, by_name) in [("user_uuid", "user"), ("project_id", "project")] {
                    if key == by_name {
                        report.as_object_mut().unwrap().remove(given);
                    }
                }
                let answer = server.call("POST", &group("/kernels"), Some(&report)).await.json(200);
                assert_eq!(answer["errors"][0]["errors"][0]["code"], "invalid_name", "{key} {name:?} {answer}");
            }
            let slot = with(kernel("k9", "alice", "vision", "2026-01-13T11:00:00Z"), &json!({"occupied_slots": {name.as_str(): "1"}}));
            assert_eq!(server.call("POST", &group("/kernels"), Some(&slot)).await.json(200)["rejected"], 1);
        }
    }

    async fn letters_of_every_script_are_names(db: TestDb) {
        let server = Server::new(db).await;
        for name in VISIBLE {
            let path = format!("/users/{}", escaped(name));
            server.call("PUT", &path, Some(&json!({"display_name": name}))).await.json(201);
            assert_eq!(server.get(&path).await["name"], name);
            server.call("PUT", &format!("/domains/{}", escaped(name)), Some(&json!({}))).await.json(201);
        }
    }

    /// Persian and Hindi need joiners, and emoji need variation selectors.
    async fn display_names_take_joiners_and_spaces_and_nothing_else_that_is_invisible(db: TestDb) {
        let server = Server::new(db).await;
        for good in ["می\u{200c}خواهم", "क्\u{200d}ष", "❤\u{fe0f} team", "山田\u{3000}太郎"] {
            let answer = server.call("PUT", "/users/alice", Some(&json!({"display_name": good}))).await;
            assert!(answer.status.is_success(), "{good:?}");
        }
        for bad in ["\u{200d}", " ", "\u{a0}", "\u{2800}", "a\u{202e}b", "a\u{200b}b", "a\u{378}b", "a\u{2028}b"] {
            let body = json!({"display_name": bad});
            let refused = server.call("PUT", "/users/alice", Some(&body)).await.refused(422, "invalid_name");
            assert_eq!(refused, ["/display_name"], "{bad:?}");
            let report = with(kernel("k9", "bob", "ml", "2026-01-13T11:00:00Z"), &json!({"user_name": bad}));
            let answer = server.call("POST", &group("/kernels"), Some(&report)).await.json(200);
            assert_eq!(answer["errors"][0]["errors"][0]["pointer"], "/user_name", "{bad:?}");
        }
    }

    /// An earlier release accepted them.
    async fn stored_names_stay_readable(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.call("PUT", &format!("/users/{}", id("alice")), Some(&json!({"name": "old name"}))).await.json(200);
        let name = "old\u{200b}name";
        rename_as_an_earlier_release(&server, "old name", name).await;
        let server = Server::over(server.fixture.restart().await, server.key);
        let path = format!("/users/{}", escaped(name));
        let found = server.get(&path).await;
        assert_eq!((&found["name"], &found["user_uuid"]), (&json!(name), &json!(id("alice"))));
        assert_eq!(server.call("PUT", &path, Some(&found)).await.json(200), found);
        let status = server.get(&group(&format!("/fair-share-status?user={}", escaped(name)))).await;
        assert_eq!(status["user_name"], Value::from(name));
    }
}
