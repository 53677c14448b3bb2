//! Signing in with a key, and access by a cookie and nothing else.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::person::{HOST, Person};
use crate::rest::support::Server;
use crate::support::fixture::id;
use crate::support::on_both;

const WHO: &str = "{ whoami { role label user_name expires_at } }";

on_both! {
    async fn a_session_stands_for_its_key(db: TestDb) {
        let server = Server::with_usage(db).await;
        let person = Person::of(&server);
        person.query(WHO).await.refused(401, "missing_key");
        let set = person.sign_in(&server.key).await;
        let (cookie, attributes) = set.split_once("; ").unwrap();
        assert_eq!(attributes, "Max-Age=43200; Path=/; HttpOnly; SameSite=Strict");
        assert!(!set.contains(&server.key) && cookie.len() > 40, "{set}");
        let who = person.query(WHO).await.json(200);
        assert_eq!(who["data"]["whoami"], json!({"role": "admin", "label": "admin", "user_name": null, "expires_at": "2026-01-14T00:00:00Z"}));
        // The stored value is not a cookie.
        let stored = fairshared::store::ui_sessions::sessions_by_hash(server.service.store().read()).await.unwrap();
        assert!(stored.iter().all(|(hash, _)| hash.len() == 64 && !cookie.ends_with(hash.as_str())));
        let weight = r#"mutation { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "sales", weight: 2) { weight } }"#;
        assert_eq!(person.query(weight).await.json(200)["data"]["upsert_domain_fair_share"]["weight"], "2");
        let log = server.get("/audit-log?action=weights.put").await;
        assert_eq!(log["items"][0]["actor"], "admin");

        assert_eq!(person.ask("DELETE", "/ui/session", &Value::Null).await.status, 204);
        person.query(WHO).await.refused(401, "unknown_session");
        assert_eq!(person.ask("DELETE", "/ui/session", &Value::Null).await.status, 204);
    }

    async fn a_session_is_for_graphql_alone(db: TestDb) {
        let server = Server::with_usage(db).await;
        let person = Person::of(&server);
        person.sign_in(&server.key).await;
        for path in ["/resource-groups", "/whoami", "/keys"] {
            person.ask("GET", path, &Value::Null).await.refused(401, "missing_key");
        }
        person.ask("POST", "/keys", &json!({"role": "admin", "label": "x"})).await.refused(401, "missing_key");
    }

    async fn a_page_of_another_site_gets_nowhere(db: TestDb) {
        let server = Server::with_usage(db).await;
        let person = Person::of(&server);
        person.sign_in(&server.key).await;
        let own = format!("http://{HOST}");
        let query = json!({"query": WHO});
        let foreign: [&[(&str, &str)]; 6] = [
            &[("origin", &own)],
            &[("x-fairshared-csrf", "1")],
            &[("x-fairshared-csrf", "1"), ("origin", "https://evil.test")],
            &[("x-fairshared-csrf", "1"), ("origin", "null")],
            &[("x-fairshared-csrf", "1"), ("origin", "http://fair.test.evil.test")],
            &[("x-fairshared-csrf", "1"), ("origin", HOST)],
        ];
        for headers in foreign {
            person.send("POST", "/graphql", headers, &query).await.refused(403, "forbidden");
            person.send("DELETE", "/ui/session", headers, &Value::Null).await.refused(403, "forbidden");
            let headers = [headers, &[("content-type", "application/json")]].concat();
            person.send("POST", "/ui/session", &headers, &json!({"key": server.key})).await.refused(403, "forbidden");
        }
        person.query(WHO).await.json(200);
        // A key in the header counts before the cookie, and needs neither.
        let key = format!("Bearer {}", server.key_for(Role::Viewer, None).await);
        let headers = [("authorization", &*key), ("content-type", "application/json")];
        let who = person.send("POST", "/graphql", &headers, &query).await.json(200);
        assert_eq!(who["data"]["whoami"]["role"], "viewer");
    }

    async fn a_session_ends_with_its_time_and_with_its_key(db: TestDb) {
        let server = Server::with_usage(db).await;
        let person = Person::of(&server);
        person.sign_in(&server.key).await;
        server.clock.advance_seconds(12 * 3600 - 1);
        person.query(WHO).await.json(200);
        server.clock.advance_seconds(1);
        person.query(WHO).await.refused(401, "expired_session");

        let created = server.call("POST", "/keys", Some(&json!({"role": "viewer", "label": "v"}))).await.json(201);
        person.sign_in(created["key"].as_str().unwrap()).await;
        person.query(WHO).await.json(200);
        server.call("DELETE", &format!("/keys/{}", created["id"].as_str().unwrap()), None).await;
        person.query(WHO).await.refused(401, "revoked_key");

        let soon = "2026-01-14T00:00:30Z";
        let created = server.call("POST", "/keys", Some(&json!({"role": "viewer", "label": "v", "expires_at": soon}))).await.json(201);
        person.sign_in(created["key"].as_str().unwrap()).await;
        assert_eq!(person.query(WHO).await.json(200)["data"]["whoami"]["expires_at"], soon);
        server.clock.advance_seconds(30);
        person.query(WHO).await.refused(401, "expired_key");
        // Expired sessions are removed once a user signs in.
        server.clock.advance_seconds(12 * 3600);
        person.sign_in(&server.key).await;
        let stored = fairshared::store::ui_sessions::sessions_by_hash(server.service.store().read()).await.unwrap();
        assert_eq!(stored.len(), 1);
    }

    async fn what_is_no_key_signs_nobody_in(db: TestDb) {
        let server = Server::new(db).await;
        let person = Person::of(&server);
        let refused = person.ask("POST", "/ui/session", &json!({"key": "fsk_nothing"})).await;
        refused.refused(401, "unknown_key");
        assert!(!refused.headers.contains_key("set-cookie"));
        for body in [json!({}), json!({"key": 5}), json!([]), json!({"key": "x", "more": 1})] {
            assert!(person.ask("POST", "/ui/session", &body).await.status.is_client_error(), "{body}");
        }
        *person.cookie.lock().unwrap() = Some("fairshared_session=abc".to_owned());
        person.query(WHO).await.refused(401, "unknown_session");
        person.ask("PUT", "/ui/session", &Value::Null).await.refused(405, "method_not_allowed");
    }

    async fn the_public_address_decides_what_cookies_say(db: TestDb) {
        let server = Server::new(db).await;
        let person = Person::of_public(&server, "https://example.org:443/fair/");
        let sign_in = json!({"key": server.key});
        let headers = |origin| [("origin", origin), ("x-fairshared-csrf", "1"), ("content-type", "application/json")];
        let set = person.send("POST", "/ui/session", &headers("https://example.org"), &sign_in).await;
        assert_eq!(set.status, 204);
        assert!(set.header("set-cookie").ends_with("Path=/fair/; HttpOnly; SameSite=Strict; Secure"));
        // The host that a proxy asks is not the one that a browser sees.
        person.send("POST", "/ui/session", &headers("http://fair.test"), &sign_in).await.refused(403, "forbidden");
    }

    async fn another_process_knows_the_session(db: TestDb) {
        let server = Server::new(db).await;
        let person = Person::of(&server);
        person.sign_in(&server.key).await;
        let cookie = person.cookie.lock().unwrap().clone();
        let other = Server::over(server.fixture.restart().await, server.key);
        let there = Person::of(&other);
        *there.cookie.lock().unwrap() = cookie;
        assert_eq!(there.query(WHO).await.json(200)["data"]["whoami"]["role"], "admin");
    }

    async fn keys_are_made_and_revoked_over_graphql(db: TestDb) {
        let server = Server::with_usage(db).await;
        let row = "key row { key_id role label user_name resource_groups revoked_at }";
        let make = format!(r#"mutation {{ create_key(role: USER, label: "of alice", user_uuid: "{}") {{ {row} }} }}"#, id("alice"));
        let made = server.graphql(&make).await["data"]["create_key"].clone();
        assert_eq!((&made["row"]["role"], &made["row"]["user_name"]), (&json!("user"), &json!("alice")));
        let key = made["key"].as_str().unwrap();
        let person = Person::of(&server);
        person.sign_in(key).await;
        assert_eq!(person.query(WHO).await.json(200)["data"]["whoami"]["user_name"], "alice");
        for query in ["{ keys { count } }".to_owned(), make, r#"{ usage_gaps(resource_group: "gpu-cluster") { count } }"#.to_owned()] {
            let answer = person.query(&query).await.json(200);
            assert_eq!(answer["errors"][0]["extensions"]["code"], "forbidden", "{query}: {answer}");
        }
        let own = r#"{ kernels(resource_group: "gpu-cluster", status: RUNNING) { count edges { node { user_name status occupied_slots } } } }"#;
        let own = person.query(own).await.json(200)["data"]["kernels"].clone();
        assert_eq!(own["edges"], json!([{"node": {"user_name": "alice", "status": "RUNNING", "occupied_slots": r#"{"cpu":"20"}"#}}]));

        let keys = server.graphql("{ keys { count edges { node { key_id label } } } }").await["data"]["keys"].clone();
        assert_eq!((keys["count"].as_u64(), &keys["edges"][1]["node"]["label"]), (Some(2), &json!("of alice")));
        let id = &keys["edges"][1]["node"]["key_id"];
        assert_eq!(server.graphql(&format!("mutation {{ revoke_key(id: {id}) }}")).await["data"]["revoke_key"], true);
        person.query(WHO).await.refused(401, "revoked_key");
    }

    async fn the_last_admin_key_is_revoked_over_graphql_only_with_force(db: TestDb) {
        let server = Server::new(db).await;
        let own = server.graphql("{ whoami { key_id } }").await["data"]["whoami"]["key_id"].clone();
        let refused = server.graphql(&format!("mutation {{ revoke_key(id: {own}) }}")).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "last_admin_key", "{refused}");
        assert_eq!(server.graphql("{ keys { edges { node { revoked_at } } } }").await["data"]["keys"]["edges"], json!([{"node": {"revoked_at": null}}]));
        let done = server.graphql(&format!("mutation {{ revoke_key(id: {own}, force: true) }}")).await;
        assert_eq!(done["data"]["revoke_key"], true, "{done}");
        server.call("GET", "/keys", None).await.refused(401, "revoked_key");
    }

    async fn a_group_tells_what_is_used_now_and_shares_are_found_by_name(db: TestDb) {
        let server = Server::with_usage(db).await;
        let group = r#"{ resource_group(name: "gpu-cluster") { in_use waiting revision } }"#;
        let before = server.graphql(group).await["data"]["resource_group"].clone();
        assert_eq!((&before["in_use"], &before["waiting"]), (&json!(r#"{"cpu":"35"}"#), &json!("{}")));
        server.agent("node-02", &json!({"cpu": "1"})).await;
        assert_ne!(server.graphql(group).await["data"]["resource_group"]["revision"], before["revision"]);
        let count = async |filter: &str| {
            let query = format!(r#"{{ user_fair_shares(resource_group: "gpu-cluster", filter: {filter}) {{ count }} }}"#);
            server.graphql(&query).await["data"]["user_fair_shares"]["count"].as_u64()
        };
        assert_eq!(count(r#"{user_name: {i_contains: "AL"}}"#).await, Some(1));
        assert_eq!(count("{active: true}").await, Some(3));
        assert_eq!(count("{active: false}").await, Some(0));
    }
}
